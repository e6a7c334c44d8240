//! The folder of pins on the BPF file system. The file system is usually writable by all users
//! (mode 1777), so the folder may belong to another user: then no file in it is created or removed,
//! and the error message has the owner and the remedy.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// Effective user ID of this process.
///
/// # Errors
/// The machine has no /proc.
pub fn effective_uid() -> Result<u32, String> {
    const STATUS: &str = "/proc/self/status";
    let text = fs::read_to_string(STATUS).map_err(|e| format!("{STATUS}: {e}"))?;
    // Real, effective, saved and file system user (man 5 proc_pid_status).
    let users = text.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let effective = users.split_whitespace().nth(1).and_then(|user| user.parse().ok());
    effective.ok_or_else(|| format!("{STATUS} has no effective user"))
}

/// Creates the folder, or checks that only user `uid` can change the existing one.
///
/// # Errors
/// The folder cannot be created, or another user can change it.
pub fn make(folder: &Path, uid: u32) -> Result<(), String> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(format!("{}: {error}", folder.display())),
        _ => is_own(folder, uid).map(drop),
    }
}

/// Returns whether the folder exists, and checks that only user `uid` can change it.
///
/// # Errors
/// The folder exists, and another user can change it.
pub fn is_own(folder: &Path, uid: u32) -> Result<bool, String> {
    let name = folder.display();
    // lstat: a symbolic link is not followed.
    let metadata = match fs::symlink_metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let remedy = format!(
        "remove it (rm -r {name}) and load again; a BPF file system that only root can write to (mode=0755) keeps others from it"
    );
    if !metadata.is_dir() {
        return Err(format!("{name} is no folder but {} of user {}; {remedy}", kind(&metadata), metadata.uid()));
    }
    if metadata.uid() == 0 && uid != 0 {
        return Err(format!("{name} belongs to root; run this as root"));
    }
    if metadata.uid() != uid {
        return Err(format!("{name} belongs to user {} and not to user {uid}, who runs this; {remedy}", metadata.uid()));
    }
    if metadata.mode() & OTHERS_WRITE != 0 {
        return Err(format!("{name} can be changed by others (mode {:04o}); {remedy}", metadata.mode() & 0o7777));
    }
    check_parent(folder, uid).map(|()| true)
}

/// Checks that no other user can replace the folder: with write access to the parent, unless the
/// parent has the sticky bit.
fn check_parent(folder: &Path, uid: u32) -> Result<(), String> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    let metadata = fs::symlink_metadata(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    let name = parent.display();
    if metadata.uid() != uid && metadata.uid() != 0 {
        return Err(format!("{name} belongs to user {}, who could replace what is in it; mount it as root", metadata.uid()));
    }
    if metadata.mode() & OTHERS_WRITE != 0 && metadata.mode() & STICKY == 0 {
        return Err(format!(
            "others could replace what is in {name} (mode {:04o}); chmod 1777 {name}, or 0755",
            metadata.mode() & 0o7777
        ));
    }
    Ok(())
}

fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_symlink() { "a symbolic link" } else { "a file" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    /// Creates a folder of this user with a mode, for one test.
    fn bpffs(name: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ackclock-pins-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    // finding("S8")
    #[test]
    fn folder_is_created_or_accepted_when_it_is_the_users_own() {
        let (top, uid) = (bpffs("own", 0o1777), effective_uid().unwrap());
        let folder = top.join("ackclock");
        assert_eq!(is_own(&folder, uid), Ok(false));
        make(&folder, uid).unwrap();
        make(&folder, uid).unwrap();
        assert_eq!(is_own(&folder, uid), Ok(true));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777 & OTHERS_WRITE, 0);
        fs::remove_dir_all(top).unwrap();
    }

    // finding("S8")
    #[test]
    fn folder_is_refused_with_its_owner_and_a_remedy_when_another_user_created_it() {
        let (top, uid) = (bpffs("foreign", 0o1777), effective_uid().unwrap());
        let folder = top.join("ackclock");
        make(&folder, uid).unwrap();
        // Seen from another user, the folder belongs to this one.
        let why = make(&folder, uid + 1).unwrap_err();
        let owner = if uid == 0 { "belongs to root; run".to_owned() } else { format!("belongs to user {uid} and") };
        assert!(why.contains(&owner), "{why}");
        if uid == 0 {
            // Seen from root, the folder belongs to another user.
            std::os::unix::fs::chown(&folder, Some(1000), None).unwrap();
            let why = make(&folder, uid).unwrap_err();
            assert!(why.contains("belongs to user 1000 and not to user 0") && why.contains("rm -r"), "{why}");
        }
        fs::remove_dir_all(top).unwrap();
    }

    // finding("S8")
    #[test]
    fn folder_is_refused_when_it_is_a_link_or_others_can_write_to_it_or_replace_it() {
        let (top, uid) = (bpffs("open", 0o1777), effective_uid().unwrap());
        let folder = top.join("ackclock");
        make(&folder, uid).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(is_own(&folder, uid).unwrap_err().contains("mode 0777"));
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&top, Permissions::from_mode(0o777)).unwrap();
        assert!(is_own(&folder, uid).unwrap_err().contains("replace"));
        fs::set_permissions(&top, Permissions::from_mode(0o1777)).unwrap();
        fs::remove_dir(&folder).unwrap();
        symlink("/etc", &folder).unwrap();
        assert!(make(&folder, uid).unwrap_err().contains("a symbolic link"));
        fs::remove_dir_all(top).unwrap();
    }
}
