//! Compiles bpf/*.bpf.c against the running kernel's types into objects that the binary includes.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const BTF: &str = "/sys/kernel/btf/vmlinux";
const PROGRAMS: [&str; 5] = ["vegas", "veno", "westwood", "bic", "biad"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The header directory of the libbpf that libbpf-sys has built.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys sets it");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={BTF}");
    let types = File::create(out.join("vmlinux.h")).expect("the build folder is writable");
    let bpftool = env::var("BPFTOOL").unwrap_or_else(|_| "bpftool".into());
    run(Command::new(bpftool).args(["btf", "dump", "file", BTF, "format", "c"]).stdout(types));
    for program in PROGRAMS {
        compile(program, &headers, &out);
    }
    compile_for_host();
}

/// Compiles the same sources for the host, for tests/lockstep.rs.
fn compile_for_host() {
    println!("cargo:rerun-if-changed=tests/host");
    let mut objects = Vec::new();
    for program in PROGRAMS {
        let mut build = cc::Build::new();
        // Every program defines `control` and `LICENSE`: the names must differ in one binary.
        build.define("control", format!("{program}_control").as_str()).define("LICENSE", format!("{program}_licence").as_str());
        build.include("tests/host").file(format!("bpf/{program}.bpf.c")).warnings(false).cargo_metadata(false);
        objects.extend(build.out_dir(out_dir(program)).compile_intermediates());
    }
    cc::Build::new().objects(objects).compile("programs");
}

fn out_dir(program: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join(program)
}

fn compile(program: &str, headers: &str, out: &Path) {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let endian = if cfg!(target_endian = "little") { "bpfel" } else { "bpfeb" };
    run(Command::new(clang)
        .args(["-target", endian, "-mcpu=v3", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        // Newer versions of bpftool declare kfuncs in vmlinux.h, too, which the sources declare
        // themselves.
        .arg("-DBPF_NO_KFUNC_PROTOTYPES")
        .arg(format!("-D__TARGET_ARCH_{}", linux_name(&env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"))))
        .args(["-isystem", &out.to_string_lossy(), "-isystem", headers])
        .args(["-c", &format!("bpf/{program}.bpf.c"), "-o"])
        .arg(out.join(format!("{program}.bpf.o"))));
}

/// The architecture's name in libbpf's headers.
fn linux_name(arch: &str) -> &str {
    match arch {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        "s390x" => "s390",
        "powerpc64" => "powerpc",
        "loongarch64" => "loongarch",
        other => other,
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
