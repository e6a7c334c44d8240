//! Drops all capabilities that loading does not need, before a program is opened.

use caps::{CapSet, Capability, CapsHashSet};

/// CAP_BPF for BPF programs and CAP_PERFMON for struct_ops programs, which read kernel memory.
/// Linux 6.18 requires both and no other.
const NEEDED: [Capability; 2] = [Capability::CAP_BPF, Capability::CAP_PERFMON];

/// Drops all capabilities except the needed ones.
///
/// # Errors
/// A needed capability is missing, or the kernel refuses.
pub fn reduce() -> Result<(), String> {
    let held = caps::read(None, CapSet::Permitted).map_err(|e| e.to_string())?;
    let missing: Vec<String> = NEEDED.iter().filter(|c| !held.contains(c)).map(ToString::to_string).collect();
    if !missing.is_empty() {
        return Err(format!("loading needs {}; run it as root", missing.join(", ")));
    }
    let keep: CapsHashSet = NEEDED.into_iter().collect();
    caps::clear(None, CapSet::Inheritable).map_err(|e| e.to_string())?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &keep).map_err(|e| e.to_string())?;
    }
    Ok(())
}
