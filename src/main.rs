//! The binary: hands its arguments to the library and ends with the exit code that comes back.

use std::process::ExitCode;

fn main() -> ExitCode {
    haptic_scaffold::run(std::env::args_os(), haptic_scaffold::world::World::real()).into()
}
