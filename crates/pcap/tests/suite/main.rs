//! Tests of the crate's public interface, in one executable: one link step instead of one per file.

mod external_readers;
