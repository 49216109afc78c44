//! Overwriting a file changes its content and nothing else about it.

use std::fs;

use tove_tensor::Tensor;
use tove_tensor::io::{self, WriteOptions};

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("tove-replace-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[cfg(unix)]
#[test]
fn overwriting_keeps_permissions_and_writes_through_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("links");
    let (file, link) = (folder.join("secret.npy"), folder.join("link.npy"));
    Tensor::from([1.0]).write_npy(&file, WriteOptions::default()).expect("new");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("permissions");
    symlink("secret.npy", &link).expect("a link");
    Tensor::from([2.0]).write_npy(&link, WriteOptions::overwriting()).expect("through the link");
    assert!(fs::symlink_metadata(&link).expect("still there").file_type().is_symlink());
    assert_eq!(fs::metadata(&file).expect("still there").permissions().mode() & 0o777, 0o600);
    assert_eq!(Tensor::read_npy(&file).expect("readable").to_vec::<f64>(), [2.0]);
    assert_eq!(fs::read_dir(&folder).expect("folder").count(), 2);
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_copied_file_may_be_cut_short() {
    let folder = folder("copied");
    let path = folder.join("weights.safetensors");
    let (w, mask) = (Tensor::from([1.5, 2.5]), Tensor::from([true, false]));
    let entries = [("w", &w), ("mask", &mask)];
    io::write_safetensors(&path, &entries, &Default::default(), WriteOptions::default()).expect("written");
    let mapped = io::read_safetensors(&path).expect("mapped");
    let copied = io::read_safetensors_copied(&path).expect("copied");
    for (a, b) in mapped.iter().zip(&copied) {
        assert_eq!((&a.0, a.1.to_f64_vec()), (&b.0, b.1.to_f64_vec()));
    }
    drop(mapped);
    fs::write(&path, b"short").expect("cut");
    let values = copied.iter().find(|(name, _)| name == "w").map(|(_, w)| w.to_vec::<f64>());
    assert_eq!(values, Some(vec![1.5, 2.5]));
    fs::remove_dir_all(&folder).expect("removed");
}
