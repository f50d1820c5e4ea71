//! The use cases, one file each: gather facts, plan, show, apply.

pub mod author;
pub mod bot;
pub mod choice;
pub mod deliver;
pub mod files;
pub mod gather;
pub mod init;
pub mod inputs;
pub mod layouts;
pub mod moves;
pub mod next_steps;
pub mod pin_files;
pub mod pin_history;
mod pin_paths;
pub mod pins;
pub mod plain_secrets;
pub mod policies;
pub mod published;
pub mod recover;
pub mod schema;
pub mod sealing;
pub mod secrets;
pub mod shell;
pub mod told;
pub mod upgrade;
pub mod values_lines;
pub mod versions;
