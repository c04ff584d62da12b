//! PTX as data: module, function, instruction; the table of operations; printer and parser.
