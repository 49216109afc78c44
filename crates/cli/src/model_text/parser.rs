//! From text to a tree of names, values and calls, each with its place.

use super::Mistake;

/// Calls and lists inside one another, at most.
const DEEPEST: usize = 32;

/// A part of the text with the byte at which it begins.
#[derive(Debug)]
pub struct Node {
    pub at: usize,
    pub item: Item,
}

/// What a part of the text is.
#[derive(Debug)]
pub enum Item {
    /// A name, a number, `true`, `none`.
    Word(String),
    /// Text between quotation marks.
    Quoted(String),
    /// `[a, b]`.
    List(Vec<Node>),
    /// `{name: value}`.
    Map(Vec<(String, Node)>),
    /// `Name(value, name=value)`.
    Call(String, Vec<Argument>),
}

/// A value of a call, with its name if it has one.
#[derive(Debug)]
pub struct Argument {
    pub at: usize,
    pub name: Option<String>,
    pub value: Node,
}

/// The only value of a text.
pub fn parse(text: &str) -> Result<Node, Mistake> {
    let mut parser = Parser { text, at: 0 };
    let node = parser.value(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(letter) => {
            Err(parser.mistake(format!("`{letter}` after the end; close brackets once, and name one model")))
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    /// The next letter after spaces.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// Whether the next letter is this one, which is taken.
    fn take(&mut self, letter: char) -> bool {
        let there = self.peek() == Some(letter);
        self.at += if there { letter.len_utf8() } else { 0 };
        there
    }

    #[cold]
    fn mistake(&self, problem: impl Into<String>) -> Mistake {
        Mistake::new(self.at, problem)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Mistake> {
        let first = self.peek();
        let at = self.at;
        if depth > DEEPEST {
            return Err(self.mistake(format!("more than {DEEPEST} levels inside one another; use fewer")));
        }
        let item = match first {
            None => return Err(self.mistake("a value is missing")),
            Some('[') => {
                self.at += 1;
                Item::List(self.until(']', |parser| parser.value(depth + 1))?)
            }
            Some('{') => {
                self.at += 1;
                Item::Map(self.until('}', |parser| parser.entry(depth + 1))?)
            }
            Some(quote @ ('"' | '\'')) => Item::Quoted(self.quoted(quote)?),
            Some(_) => {
                let word = self.word()?;
                match self.take('(') {
                    true => Item::Call(word, self.until(')', |parser| parser.argument(depth + 1))?),
                    false => Item::Word(word),
                }
            }
        };
        Ok(Node { at, item })
    }

    /// Parts between commas, up to a bracket; a comma may stand before it.
    fn until<T>(&mut self, end: char, one: impl Fn(&mut Self) -> Result<T, Mistake>) -> Result<Vec<T>, Mistake> {
        let mut all = Vec::new();
        loop {
            if self.take(end) {
                return Ok(all);
            }
            all.push(one(self)?);
            if !self.take(',') && self.peek() != Some(end) {
                return Err(self.mistake(format!("`,` or `{end}` is missing")));
            }
        }
    }

    fn entry(&mut self, depth: usize) -> Result<(String, Node), Mistake> {
        let name = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.word()?,
        };
        if !self.take(':') && !self.take('=') {
            return Err(self.mistake(format!("`:` is missing after `{name}`")));
        }
        Ok((name, self.value(depth)?))
    }

    fn argument(&mut self, depth: usize) -> Result<Argument, Mistake> {
        let value = self.value(depth)?;
        let at = value.at;
        if !self.take('=') {
            return Ok(Argument { at, name: None, value });
        }
        match value.item {
            Item::Word(name) => Ok(Argument { at, name: Some(name), value: self.value(depth)? }),
            _ => Err(Mistake::new(at, "a name stands before `=`")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, Mistake> {
        let start = self.at + 1;
        match self.text[start..].find(quote) {
            Some(length) => {
                self.at = start + length + 1;
                Ok(self.text[start..start + length].to_owned())
            }
            None => Err(self.mistake(format!("the closing {quote} is missing"))),
        }
    }

    /// Letters of a name or a number.
    fn word(&mut self) -> Result<String, Mistake> {
        let first = self.peek();
        let rest = &self.text[self.at..];
        let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-' | '+');
        let length = rest.find(|letter| !inside(letter)).unwrap_or(rest.len());
        if length == 0 {
            let found = first.map_or("the end".to_owned(), |letter| format!("`{letter}`"));
            return Err(self.mistake(format!("a name or a value is missing before {found}")));
        }
        let word = rest[..length].to_owned();
        self.at += length;
        Ok(word)
    }
}
