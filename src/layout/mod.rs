//! Layouts and templates: from answers to the text of files.
//!
//! Owns what a layout may say ([`definition`]), where layouts come from ([`catalog`]), how questions get their answers
//! ([`resolve`], [`answers`]) and how files are rendered ([`render`]). Pure: it reads embedded data and maps that it is given,
//! never the file system, the environment, the clock or the network.

pub mod answers;
pub mod catalog;
pub mod check;
mod claims;
pub mod context;
pub mod definition;
pub mod given;
pub mod order;
pub mod profile;
pub mod question;
pub mod recorded;
pub mod render;
pub mod resolve;
mod templates;
pub mod values;
