//! Only what loading needs: everything else is given up before a program is opened.

use caps::{CapSet, Capability, CapsHashSet};

/// struct_ops programs are BPF, and see sockets (perfmon). Nothing more is asked by Linux 6.18: without either it refuses.
const NEEDED: [Capability; 2] = [Capability::CAP_BPF, Capability::CAP_PERFMON];

/// Gives up every capability but the needed ones.
///
/// # Errors
/// One of them is missing.
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
