//! What is wrong with objects of built-in kinds, in upstream's words.
