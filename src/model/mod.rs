//! The nouns of the program: values without I/O, each in a file of its own.
//!
//! Nothing here reads a file, the environment, the clock or the network, and nothing here knows a layout or HAPTIC.

pub mod address;
pub mod chart;
pub mod cluster;
pub mod condition;
pub mod env;
pub mod git_url;
pub mod pattern;
pub mod pem;
pub mod policy;
pub mod proxy;
pub mod range;
pub mod repo_path;
pub mod request;
pub mod text;
pub mod tree;
pub mod usual;
