//! Chromium, spoken to by the DevTools protocol over a pipe: JSON messages with a zero byte behind each.
//!
//! The pipe needs no port and no library. The browser expects it as its files 3 and 4, which a shell arranges.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    number: u64,
    session: Option<String>,
}

/// Where the browser is, if it is anywhere.
fn program() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    NAMES.into_iter().find_map(find)
}

impl Browser {
    /// Whether a browser is installed.
    pub fn is_installed() -> bool {
        program().is_some()
    }

    /// Starts a browser with a profile in `folder`.
    pub fn start(folder: &Path) -> Result<Browser, String> {
        let program = program().ok_or("chromium is not installed; `apt-get install chromium` brings it")?;
        let flags = [
            "--headless=new",
            "--no-sandbox", // it refuses to run as root otherwise, as in most containers
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
        ];
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args(flags)
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromium does not start: {error}"))?;
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let (mut reader, mut bytes) = (BufReader::new(output), Vec::new());
            while reader.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                if let Ok(message) = serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes))
                    && sender.send(message).is_err()
                {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser = Browser { child, input, messages, number: 0, session: None };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", json!({}))?;
        Ok(browser)
    }

    /// Calls a method and waits for its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.input.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|error| format!("chromium has ended: {error}"))?;
        let start = Instant::now();
        while let Ok(answer) = self.messages.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
            if answer["id"] == json!(self.number) {
                return match answer.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
        Err(format!("chromium does not answer to {method}"))
    }

    #[track_caller]
    fn must(&mut self, method: &str, parameters: Value) -> Value {
        self.call(method, parameters).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The value of an expression in the page; promises are waited for.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.must("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub fn open(&mut self, address: &str) {
        self.must("Page.navigate", json!({"url": address}));
        self.until(&format!("location.href === {} && document.readyState === 'complete'", json!(address)));
    }

    /// A click of the mouse in the middle of an element.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView(); const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.must("Input.dispatchMouseEvent", event);
        }
    }

    /// A key, by its name: Tab, Enter, ArrowDown.
    #[track_caller]
    pub fn key(&mut self, name: &str) {
        let (code, text) = match name {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ => (40, ""),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code, "text": text});
            self.must("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into whatever has the focus, key by key.
    #[track_caller]
    pub fn write(&mut self, text: &str) {
        for character in text.chars() {
            for kind in ["keyDown", "keyUp"] {
                self.must("Input.dispatchKeyEvent", json!({"type": kind, "key": character, "text": character}));
            }
        }
    }

    /// Light or dark, and the width of the window.
    #[track_caller]
    pub fn look(&mut self, scheme: &str, width: u32) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.must("Emulation.setEmulatedMedia", features);
        let size = json!({"width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": false});
        self.must("Emulation.setDeviceMetricsOverride", size);
    }

    /// A picture of the whole page as PNG.
    #[track_caller]
    pub fn picture(&mut self) -> Vec<u8> {
        let answer = self.must("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        decoded(answer["data"].as_str().unwrap())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let closed = self.call("Browser.close", json!({})).is_ok();
        let start = Instant::now();
        while closed && start.elapsed() < Duration::from_secs(5) {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Base64 without line breaks.
fn decoded(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let six = alphabet.iter().position(|&known| known == letter).unwrap() as u32;
        (bits, held) = (bits << 6 | six, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}
