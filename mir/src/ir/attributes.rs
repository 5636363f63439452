//! The `"key"="value"` attributes of a function: a sorted list.
//!
//! A function has some ten or twenty of them, and passes ask again and again for such that it does not have. So keys are told apart by
//! their lengths first, and nothing is allocated besides the list and the texts.

/// Attributes by key, in the order of the keys' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// No attributes.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `key`. Linear in the number of attributes.
    pub fn get(&self, key: &str) -> Option<&String> {
        self.0.iter().find(|(own, _)| own.len() == key.len() && own == key).map(|(_, value)| value)
    }

    /// Whether there is a `key`, whatever its value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Adds an attribute or replaces the one of this key; returns the value that it had. Constant where keys come in their order.
    pub fn insert(&mut self, key: String, value: String) -> Option<String> {
        if self.0.last().is_none_or(|last| last.0 < key) {
            self.0.push((key, value));
            return None;
        }
        match self.0.binary_search_by(|own| own.0.cmp(&key)) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes the attribute `key` away; returns its value.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|own| own.0 == key)?;
        Some(self.0.remove(at).1)
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_sorted_and_found() {
        let mut attributes = Attributes::new();
        for (key, value) in [("b", "1"), ("d", "2"), ("a", "3"), ("c", "4"), ("b", "5")] {
            let old = attributes.insert(key.to_owned(), value.to_owned());
            assert_eq!(old.as_deref(), (value == "5").then_some("1"));
        }
        let keys: Vec<_> = attributes.iter().map(|(key, value)| format!("{key}{value}")).collect();
        assert_eq!(keys, ["a3", "b5", "c4", "d2"]);
        assert_eq!(attributes.get("c").map(String::as_str), Some("4"));
        assert_eq!(attributes.remove("c").as_deref(), Some("4"));
        assert_eq!(attributes.remove("c"), None);
        assert_eq!(attributes.get("c"), None);
        assert!(attributes.contains_key("d") && !attributes.contains_key("dd"));
    }
}
