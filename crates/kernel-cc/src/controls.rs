//! The five congestion controls: their names in the simulator and in the kernel, and their compiled
//! programs.

/// Aligns an ELF file in memory, as libbpf requires.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

/// One congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Name in the simulator (`ackclock list variants`).
    pub variant: &'static str,
    /// Value of TCP_CONGESTION: at most 15 letters, digits, `_` and `.` (the kernel's rule). It
    /// must differ from the names of all kernel modules.
    pub kernel_name: &'static str,
    /// The compiled program.
    pub object: &'static [u8],
}

macro_rules! object {
    ($file:literal) => {{
        static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".bpf.o")));
        &OBJECT.0
    }};
}

pub static CONTROLS: [Control; 5] = [
    Control { variant: "vegas", kernel_name: "ackclock_vegas", object: object!("vegas") },
    Control { variant: "veno", kernel_name: "ackclock_veno", object: object!("veno") },
    Control { variant: "westwood+", kernel_name: "ackclock_westw", object: object!("westwood") },
    Control { variant: "bic", kernel_name: "ackclock_bic", object: object!("bic") },
    Control { variant: "biad", kernel_name: "ackclock_biad", object: object!("biad") },
];

/// The congestion controls with these names, in the simulator or in the kernel; all if `names` is
/// empty.
///
/// # Errors
/// A name is unknown.
pub fn by_names(names: &[String]) -> Result<Vec<Control>, String> {
    if names.is_empty() {
        return Ok(CONTROLS.to_vec());
    }
    names.iter().map(|name| by_name(name)).collect()
}

fn by_name(name: &str) -> Result<Control, String> {
    let control = CONTROLS.iter().find(|c| c.variant == name || c.kernel_name == name).copied();
    control.ok_or_else(|| format!("found \"{name}\"; allowed: {}", CONTROLS.map(|c| c.variant).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_name_is_valid_for_every_control() {
        for Control { kernel_name, .. } in CONTROLS {
            assert!(kernel_name.len() < 16, "TCP_CA_NAME_MAX includes the final 0: {kernel_name}");
            assert!(kernel_name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{kernel_name}");
        }
    }

    #[test]
    fn object_contains_its_kernel_name() {
        for Control { kernel_name, object, .. } in CONTROLS {
            let mut name = kernel_name.as_bytes().to_vec();
            name.push(0);
            assert!(object.windows(name.len()).any(|w| w == name), "{kernel_name}");
        }
    }

    #[test]
    fn by_names_returns_all_controls_without_names_and_an_error_for_an_unknown_name() {
        assert_eq!(by_names(&[]).unwrap().len(), 5);
        assert_eq!(by_names(&["bic".into()]).unwrap()[0].kernel_name, "ackclock_bic");
        let why = by_names(&["cubic".into()]).unwrap_err();
        assert_eq!(why, "found \"cubic\"; allowed: vegas, veno, westwood+, bic, biad");
    }
}
