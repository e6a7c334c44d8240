//! Compiles bpf/*.bpf.c against the running kernel's types. Each program becomes an object that main.rs carries.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const BTF: &str = "/sys/kernel/btf/vmlinux";
const PROGRAMS: [&str; 5] = ["vegas", "veno", "westwood", "bic", "biad"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // libbpf-sys says where the headers of the libbpf that it builds are.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys sets it");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={BTF}");
    let types = File::create(out.join("vmlinux.h")).expect("the build folder can be written");
    let bpftool = env::var("BPFTOOL").unwrap_or_else(|_| "bpftool".into());
    run(Command::new(bpftool).args(["btf", "dump", "file", BTF, "format", "c"]).stdout(types));
    for program in PROGRAMS {
        compile(program, &headers, &out);
    }
    for_tests();
}

/// The same sources as functions of the host, which tests/lockstep.rs calls.
fn for_tests() {
    println!("cargo:rerun-if-changed=tests/host");
    let mut objects = Vec::new();
    for program in PROGRAMS {
        let mut build = cc::Build::new();
        // Each has a control and a licence; one name a program.
        build.define("control", format!("{program}_control").as_str()).define("LICENSE", format!("{program}_licence").as_str());
        build.include("tests/host").file(format!("bpf/{program}.bpf.c")).warnings(false).cargo_metadata(false);
        objects.extend(build.out_dir(out_of(program)).compile_intermediates());
    }
    cc::Build::new().objects(objects).compile("programs");
}

fn out_of(program: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join(program)
}

fn compile(program: &str, headers: &str, out: &Path) {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let endian = if cfg!(target_endian = "little") { "bpfel" } else { "bpfeb" };
    run(Command::new(clang)
        .args(["-target", endian, "-mcpu=v3", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        // Newer bpftools declare kernel functions, too; ours are declared where they are used.
        .arg("-DBPF_NO_KFUNC_PROTOTYPES")
        .arg(format!("-D__TARGET_ARCH_{}", linux_name(&env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"))))
        .args(["-isystem", &out.to_string_lossy(), "-isystem", headers])
        .args(["-c", &format!("bpf/{program}.bpf.c"), "-o"])
        .arg(out.join(format!("{program}.bpf.o"))));
}

/// What libbpf's headers call a processor.
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
