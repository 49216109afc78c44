//! Allowed host names.
//!
//! A website can resolve its own name to 127.0.0.1 and then read the responses of a local server (DNS rebinding). The browser still
//! sends that name as `Host`, so a server on a loopback address accepts only loopback names, unless others are allowed.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::refusal::Refusal;

/// Names that are answered.
pub struct Hosts {
    /// Whether only names of this machine, and those below, are answered.
    local: bool,
    allowed: Vec<String>,
}

impl Hosts {
    /// For a server on this address. `*` allows every name.
    pub fn new(address: IpAddr, allowed: &[String]) -> Hosts {
        let any = allowed.iter().any(|name| name == "*");
        let local = !any && (address.is_loopback() || !allowed.is_empty());
        Hosts { local, allowed: allowed.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Why a request is not answered, if so. Without the header nobody was misled.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(host) = headers.get(header::HOST).filter(|_| self.local) else { return Ok(()) };
        let host = host.to_str().unwrap_or_default();
        if self.allows(host) {
            return Ok(());
        }
        let shown: String = host.chars().take(80).collect();
        Err(Refusal::new(421, format!("host name {shown} is not allowed; allow it with --allow-host")))
    }

    fn allows(&self, host: &str) -> bool {
        let name = without_port(host).trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name == "localhost"
            || name.ends_with(".localhost")
            || address.is_ok_and(|address| address.is_loopback())
            || self.allowed.contains(&name)
    }
}

/// A name or an address in brackets, without the port behind it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => {
            if name.contains(':') && !name.starts_with('[') { host } else { name }
        }
        _ => host,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_answered_and_others_are_not() {
        let loopback: IpAddr = "127.0.0.1".parse().unwrap();
        let hosts = Hosts::new(loopback, &["Model.example".to_owned()]);
        for name in [
            "localhost",
            "LOCALHOST:8080",
            "a.localhost",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:80",
            "[::1]",
            "model.example:8",
        ] {
            assert!(hosts.allows(name), "{name}");
        }
        for name in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.1", "", "[2001:db8::1]:80", "x:y"]
        {
            assert!(!hosts.allows(name), "{name}");
        }
        let mut headers = HeaderMap::new();
        assert!(hosts.check(&headers).is_ok());
        headers.insert(header::HOST, "evil.example".parse().unwrap());
        assert_eq!(hosts.check(&headers).unwrap_err().status, 421);
        assert!(Hosts::new(loopback, &["*".to_owned()]).check(&headers).is_ok());
        // Whoever listens for others is called by whatever name they use, unless names are given.
        let everywhere: IpAddr = "0.0.0.0".parse().unwrap();
        assert!(Hosts::new(everywhere, &[]).check(&headers).is_ok());
        assert!(Hosts::new(everywhere, &["model.example".to_owned()]).check(&headers).is_err());
    }
}
