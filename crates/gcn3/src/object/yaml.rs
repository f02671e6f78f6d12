//! A reader for the subset of YAML that compilers use in the metadata of version 2 objects: block maps and lists by
//! indentation, flow lists and maps, plain and quoted scalars, comments. Anchors, tags and block scalars do not occur.

use super::value::Value;

const MAX_DEPTH: usize = 32;

/// Reads one document.
pub fn read(text: &str) -> Result<Value, String> {
    let mut lines = Vec::new();
    for (number, raw) in text.lines().enumerate() {
        let content = raw.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        if content == "..." {
            break;
        }
        if content.is_empty() || content.starts_with('#') || content == "---" {
            continue;
        }
        let indent = raw.len() - raw.trim_start_matches(' ').len();
        lines.push(Line { number: number + 1, indent, text: content.to_string() });
    }
    let mut reader = Reader { lines, at: 0 };
    match reader.peek() {
        None => Ok(Value::Nothing),
        Some(line) => {
            let indent = line.indent;
            let value = reader.block(indent, 0)?;
            match reader.peek() {
                None => Ok(value),
                Some(line) => Err(format!("line {} is indented as no line above it", line.number)),
            }
        }
    }
}

struct Line {
    number: usize,
    indent: usize,
    text: String,
}

struct Reader {
    lines: Vec<Line>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Line> {
        self.lines.get(self.at)
    }

    /// A list or map whose lines start at `indent`.
    fn block(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        match self.peek() {
            Some(line) if is_item(&line.text) => self.list(indent, depth),
            Some(line) if split_key(&line.text).is_some() => self.map(indent, depth),
            Some(_) => {
                let text = std::mem::take(&mut self.lines[self.at].text);
                self.at += 1;
                self.scalar(text, depth)
            }
            None => Ok(Value::Nothing),
        }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut values = Vec::new();
        while let Some(line) = self.lines.get_mut(self.at).filter(|line| line.indent == indent && is_item(&line.text)) {
            // The text after the dash is a nested block, indented by the dash.
            let rest = line.text[1..].trim_start();
            if rest.is_empty() {
                self.at += 1;
                values.push(self.nested(indent, depth)?);
            } else {
                line.indent += line.text.len() - rest.len();
                line.text = rest.to_string();
                let indent = line.indent;
                values.push(self.block(indent, depth + 1)?);
            }
        }
        Ok(Value::List(values))
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut entries = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent && !is_item(&line.text)) {
            let Some((key, rest)) = split_key(&line.text) else {
                return Err(format!("line {}: 'key: value' is expected", line.number));
            };
            self.at += 1;
            let value = if rest.is_empty() { self.nested(indent, depth)? } else { self.scalar(rest, depth)? };
            entries.push((key, value));
        }
        Ok(Value::Map(entries))
    }

    /// The block below a key or a dash: more indented, or a list at the same depth.
    fn nested(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        match self.peek() {
            Some(line) if line.indent > indent || line.indent == indent && is_item(&line.text) => {
                let indent = line.indent;
                self.block(indent, depth + 1)
            }
            _ => Ok(Value::Nothing),
        }
    }

    /// A scalar or a flow collection, which may continue on the next lines.
    fn scalar(&mut self, mut text: String, depth: usize) -> Result<Value, String> {
        let number = self.lines.get(self.at.saturating_sub(1)).map_or(0, |line| line.number);
        if text.starts_with(['[', '{', '\'', '"']) {
            while !is_closed(&text) {
                let Some(line) = self.peek() else { return Err(format!("line {number}: the value never ends")) };
                text.push(' ');
                text.push_str(&line.text);
                self.at += 1;
            }
        }
        let mut flow = Flow { rest: &text };
        let value = flow.value(depth, "").map_err(|error| format!("line {number}: {error}"))?;
        match flow.rest.trim_start() {
            rest if rest.is_empty() || rest.starts_with('#') => Ok(value),
            rest => Err(format!("line {number}: '{}' is too much", rest.chars().take(40).collect::<String>())),
        }
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// Splits `key: rest`; the key may be quoted.
fn split_key(text: &str) -> Option<(String, String)> {
    if text.starts_with(['[', '{']) {
        return None;
    }
    let (key, after) = if text.starts_with(['\'', '"']) {
        let mut flow = Flow { rest: text };
        let Ok(Value::Text(key)) = flow.quoted() else { return None };
        (key, flow.rest.trim_start().strip_prefix(':')?)
    } else {
        let end = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?;
        (text[..end].trim_end().to_string(), &text[end + 1..])
    };
    let rest = after.trim_start();
    Some((key, if rest.starts_with('#') { String::new() } else { rest.to_string() }))
}

/// Whether all quotes and brackets of a flow value are closed.
fn is_closed(text: &str) -> bool {
    let (mut quote, mut open, mut escaped) = (None, 0i64, false);
    for c in text.chars() {
        match (quote, c) {
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(q), c) if c == q && !escaped => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '{') => open += 1,
            (None, ']' | '}') => open -= 1,
            (None, _) => {}
        }
        escaped = false;
    }
    quote.is_none() && open <= 0
}

/// A value on one line.
struct Flow<'a> {
    rest: &'a str,
}

impl Flow<'_> {
    /// Reads up to one of the characters in `ends`, or to the end of the line.
    fn value(&mut self, depth: usize, ends: &str) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH}"));
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('[') => self.collection(depth, ']'),
            Some('{') => self.collection(depth, '}'),
            Some('\'' | '"') => self.quoted(),
            _ => {
                let end = self.rest.find(|c| ends.contains(c)).unwrap_or(self.rest.len());
                let end = self.rest[..end].find(" #").unwrap_or(end);
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                Ok(plain(text.trim_end()))
            }
        }
    }

    fn collection(&mut self, depth: usize, close: char) -> Result<Value, String> {
        self.rest = &self.rest[1..];
        let (mut values, mut entries) = (Vec::new(), Vec::new());
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                return Ok(if close == ']' { Value::List(values) } else { Value::Map(entries) });
            }
            if close == ']' {
                values.push(self.value(depth + 1, ",]")?);
            } else {
                let key = match self.value(depth + 1, ":,}")? {
                    Value::Text(key) => key,
                    Value::Int(number) => number.to_string(),
                    _ => return Err("a key must be a word".into()),
                };
                self.rest = self.rest.trim_start();
                self.rest = self.rest.strip_prefix(':').ok_or_else(|| format!("':' is missing after '{key}'"))?;
                entries.push((key, self.value(depth + 1, ",}")?));
            }
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None if self.rest.starts_with(close) => {}
                None => return Err(format!("',' or '{close}' is missing")),
            }
        }
    }

    fn quoted(&mut self) -> Result<Value, String> {
        let mut chars = self.rest.char_indices();
        let quote = chars.next().map(|(_, c)| c);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if Some(c) == quote {
                // A doubled single quote stands for one.
                if c == '\'' && self.rest[at + 1..].starts_with('\'') {
                    text.push(c);
                    chars.next();
                    continue;
                }
                self.rest = &self.rest[at + 1..];
                return Ok(Value::Text(text));
            }
            if c == '\\' && quote == Some('"') {
                text.push(match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 't')) => '\t',
                    Some((_, 'r')) => '\r',
                    Some((_, '0')) => '\0',
                    Some((_, 'e')) => '\x1b',
                    Some((_, 'x')) => {
                        let digits: String = chars.by_ref().take(2).map(|(_, digit)| digit).collect();
                        u8::from_str_radix(&digits, 16).map_err(|_| format!("\\x{digits} is not a character"))?.into()
                    }
                    Some((_, other)) => other,
                    None => break,
                });
            } else {
                text.push(c);
            }
        }
        Err("the quotes never close".into())
    }
}

fn plain(text: &str) -> Value {
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match (text, number) {
        (_, Some(number)) => Value::Int(number),
        ("true", _) => Value::Bool(true),
        ("false", _) => Value::Bool(false),
        ("" | "~" | "null", _) => Value::Nothing,
        _ => Value::Text(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_version_2_compiler_writes_is_read() {
        let text = "---\nVersion:         [ 1, 0 ]\nKernels:\n  - Name:            add\n    SymbolName:      'add@kd'\n    \
                    Language:        OpenCL C\n    Args:\n      - TypeName:        'float*'\n        Size:            8\n        \
                    IsConst:         true\n      - Size: 4\n    CodeProps:\n      KernargSegmentSize: 24\n  - Name: other\n...\n\0\0";
        let value = read(text).unwrap();
        assert_eq!(value.get("Version"), Some(&Value::List(vec![Value::Int(1), Value::Int(0)])));
        let kernels = value.get("Kernels").unwrap().list().unwrap();
        assert_eq!(kernels.len(), 2);
        assert_eq!(kernels[0].get("SymbolName").unwrap().text(), Some("add@kd"));
        assert_eq!(kernels[0].get("Language").unwrap().text(), Some("OpenCL C"));
        let args = kernels[0].get("Args").unwrap().list().unwrap();
        assert_eq!(args[0].get("TypeName").unwrap().text(), Some("float*"));
        assert_eq!(args[0].get("IsConst"), Some(&Value::Bool(true)));
        assert_eq!(args[1].get("Size"), Some(&Value::Int(4)));
        assert_eq!(kernels[0].get("CodeProps").unwrap().get("KernargSegmentSize"), Some(&Value::Int(24)));
        assert_eq!(kernels[1].get("Name").unwrap().text(), Some("other"));
    }

    #[test]
    fn a_list_may_stand_at_the_indentation_of_its_key() {
        let value = read("Printf:\n- '1:1:4:%d\\n'\n- \"a\\tb\\x41\"\nKernels: []\n").unwrap();
        let printf = value.get("Printf").unwrap().list().unwrap();
        assert_eq!(printf[0].text(), Some("1:1:4:%d\\n"));
        assert_eq!(printf[1].text(), Some("a\tbA"));
        assert_eq!(value.get("Kernels"), Some(&Value::List(vec![])));
    }

    #[test]
    fn flow_collections_may_go_over_several_lines() {
        let value = read("A: { x: [ 1,\n  2 ], 'y z': it''s,\n  q: 'it''s' }\nB: 3 # three\n").unwrap();
        assert_eq!(value.get("A").unwrap().get("x").unwrap().list().unwrap().len(), 2);
        assert_eq!(value.get("A").unwrap().get("q").unwrap().text(), Some("it's"));
        assert_eq!(value.get("B"), Some(&Value::Int(3)));
    }

    #[test]
    fn broken_text_is_an_error_that_names_the_line() {
        assert!(read("A: [ 1, 2\n").unwrap_err().contains("line 1"));
        assert!(read("A: 1\nnonsense\n").unwrap_err().contains("line 2"));
        assert!(read("A:\n    B: 1\n  C: 2\n").unwrap_err().contains("line 3"));
        assert!(read("A: 'x' y\n").unwrap_err().contains("too much"));
        assert!(read(&format!("A: {}", "[".repeat(100))).is_err());
        assert!(read(&"- ".repeat(100)).is_err());
    }
}
