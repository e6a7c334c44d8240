//! The folder on the BPF file system whose files keep the controls loaded. Such a file system is usually writable by all users (mode 1777), so the
//! folder may belong to another user: then no file in it is created or removed, and the message names its owner and the remedy.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// The user that this process acts as.
///
/// # Errors
/// The machine has no /proc.
pub fn me() -> Result<u32, String> {
    const STATUS: &str = "/proc/self/status";
    let text = fs::read_to_string(STATUS).map_err(|e| format!("{STATUS}: {e}"))?;
    // Real, effective, saved and file system user (proc(5)).
    let users = text.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let effective = users.split_whitespace().nth(1).and_then(|user| user.parse().ok());
    effective.ok_or_else(|| format!("{STATUS} has no effective user"))
}

/// Creates the folder, or checks that only `me` can change the existing one.
///
/// # Errors
/// It cannot be made, or another user could change what is in it.
pub fn make(folder: &Path, me: u32) -> Result<(), String> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(format!("{}: {error}", folder.display())),
        _ => is_own(folder, me).map(drop),
    }
}

/// Whether the folder exists; if so, only `me` can change it.
///
/// # Errors
/// It is there, and another user could change what is in it.
pub fn is_own(folder: &Path, me: u32) -> Result<bool, String> {
    let name = folder.display();
    // lstat: a symbolic link is not followed.
    let about = match fs::symlink_metadata(folder) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let remedy = format!(
        "remove it (rm -r {name}) and load again; a BPF file system that only root can write to (mode=0755) keeps others from it"
    );
    if !about.is_dir() {
        return Err(format!("{name} is no folder but {} of user {}; {remedy}", kind(&about), about.uid()));
    }
    if about.uid() == 0 && me != 0 {
        return Err(format!("{name} belongs to root; run this as root"));
    }
    if about.uid() != me {
        return Err(format!("{name} belongs to user {} and not to user {me}, who runs this; {remedy}", about.uid()));
    }
    if about.mode() & OTHERS_WRITE != 0 {
        return Err(format!("{name} can be changed by others (mode {:04o}); {remedy}", about.mode() & 0o7777));
    }
    above(folder, me).map(|()| true)
}

/// A user with write access to the parent folder can replace this one, unless the parent has the sticky bit.
fn above(folder: &Path, me: u32) -> Result<(), String> {
    let Some(above) = folder.parent() else { return Ok(()) };
    let about = fs::symlink_metadata(above).map_err(|e| format!("{}: {e}", above.display()))?;
    let name = above.display();
    if about.uid() != me && about.uid() != 0 {
        return Err(format!("{name} belongs to user {}, who could replace what is in it; mount it as root", about.uid()));
    }
    if about.mode() & OTHERS_WRITE != 0 && about.mode() & STICKY == 0 {
        return Err(format!(
            "others could replace what is in {name} (mode {:04o}); chmod 1777 {name}, or 0755",
            about.mode() & 0o7777
        ));
    }
    Ok(())
}

fn kind(about: &Metadata) -> &'static str {
    if about.is_symlink() { "a symbolic link" } else { "a file" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    /// A folder of this user's with a mode, for one test.
    fn bpffs(name: &str, mode: u32) -> PathBuf {
        let at = std::env::temp_dir().join(format!("ackclock-pins-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&at);
        fs::create_dir(&at).unwrap();
        fs::set_permissions(&at, Permissions::from_mode(mode)).unwrap();
        at
    }

    // finding("S8")
    #[test]
    fn folder_is_made_or_taken_when_it_is_ones_own() {
        let (top, me) = (bpffs("own", 0o1777), me().unwrap());
        let folder = top.join("ackclock");
        assert_eq!(is_own(&folder, me), Ok(false));
        make(&folder, me).unwrap();
        make(&folder, me).unwrap();
        assert_eq!(is_own(&folder, me), Ok(true));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777 & OTHERS_WRITE, 0);
        fs::remove_dir_all(top).unwrap();
    }

    // finding("S8")
    #[test]
    fn folder_is_refused_with_its_owner_and_a_remedy_when_another_user_made_it_first() {
        let (top, me) = (bpffs("foreign", 0o1777), me().unwrap());
        let folder = top.join("ackclock");
        make(&folder, me).unwrap();
        // The other user looks at it: it belongs to this one.
        let why = make(&folder, me + 1).unwrap_err();
        let said = if me == 0 { "belongs to root; run".to_owned() } else { format!("belongs to user {me} and") };
        assert!(why.contains(&said), "{why}");
        if me == 0 {
            // Root finds another user's.
            std::os::unix::fs::chown(&folder, Some(1000), None).unwrap();
            let why = make(&folder, me).unwrap_err();
            assert!(why.contains("belongs to user 1000 and not to user 0") && why.contains("rm -r"), "{why}");
        }
        fs::remove_dir_all(top).unwrap();
    }

    // finding("S8")
    #[test]
    fn folder_is_refused_when_others_may_write_to_it_or_replace_it_or_it_is_a_link() {
        let (top, me) = (bpffs("open", 0o1777), me().unwrap());
        let folder = top.join("ackclock");
        make(&folder, me).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(is_own(&folder, me).unwrap_err().contains("mode 0777"));
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&top, Permissions::from_mode(0o777)).unwrap();
        assert!(is_own(&folder, me).unwrap_err().contains("replace"));
        fs::set_permissions(&top, Permissions::from_mode(0o1777)).unwrap();
        fs::remove_dir(&folder).unwrap();
        symlink("/etc", &folder).unwrap();
        assert!(make(&folder, me).unwrap_err().contains("a symbolic link"));
        fs::remove_dir_all(top).unwrap();
    }
}
