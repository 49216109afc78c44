//! The expression type: an immutable graph in which equal subexpressions are one node.
//!
//! Every node is looked up in a table before it is made (hash consing). So two expressions are equal exactly if they
//! are the same node, comparing takes one instruction, and a subexpression that occurs twice is stored, differentiated
//! and evaluated once.

use super::Function;
use super::number::Number;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// An expression. Cloning shares it; `==` is exact equality of form.
///
/// ```
/// use tove_tensor::symbolic::Expr;
/// let x = Expr::variable("x");
/// let f = &x * &x + Expr::from(2) * &x;
/// assert_eq!(f.to_string(), "x^2 + 2*x");
/// assert_eq!(f, "2*x + x*x".parse()?);
/// # Ok::<(), tove_tensor::symbolic::ParseError>(())
/// ```
#[derive(Clone)]
pub struct Expr(Arc<Inner>);

struct Inner {
    node: Node,
    hash: u64,
    sign: Sign,
}

/// Constants with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Constant {
    E,
    Pi,
}

impl Constant {
    pub fn name(self) -> &'static str {
        match self {
            Constant::E => "e",
            Constant::Pi => "pi",
        }
    }

    pub fn value(self) -> f64 {
        match self {
            Constant::E => std::f64::consts::E,
            Constant::Pi => std::f64::consts::PI,
        }
    }
}

/// One step of an expression. Differences and quotients are sums and products: `a - b = a + (-1) b`, `a/b = a b^(-1)`.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Number(Number),
    Constant(Constant),
    Variable(Arc<str>),
    /// Two or more terms, sorted, the number last.
    Sum(Vec<Expr>),
    /// Two or more factors, sorted, the number first.
    Product(Vec<Expr>),
    Power(Expr, Expr),
    Call(Function, Expr),
}

/// What is known about the sign of every value that an expression can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Positive,
    NotNegative,
    Unknown,
}

/// All living nodes by hash. An entry goes when its node does.
static NODES: LazyLock<Mutex<HashMap<u64, Vec<Weak<Inner>>>>> = LazyLock::new(Mutex::default);

fn nodes() -> MutexGuard<'static, HashMap<u64, Vec<Weak<Inner>>>> {
    NODES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Expr {
    /// The variable of that name.
    pub fn variable(name: &str) -> Expr {
        Expr::new(Node::Variable(Arc::from(name)))
    }

    /// The node, made only if no equal one lives. Rules of arithmetic are applied by the callers, in `build`.
    pub(super) fn new(node: Node) -> Expr {
        let hash = node.shallow_hash();
        let mut nodes = nodes();
        let bucket = nodes.entry(hash).or_default();
        // an upgraded node that is not ours must not die under the lock, so candidates are kept until it is released
        let candidates: Vec<Arc<Inner>> = bucket.iter().filter_map(Weak::upgrade).collect();
        if let Some(found) = candidates.iter().find(|inner| inner.node.same(&node)) {
            let found = Expr(Arc::clone(found));
            drop(nodes);
            return found;
        }
        let sign = node.sign();
        let inner = Arc::new(Inner { node, hash, sign });
        bucket.push(Arc::downgrade(&inner));
        drop(nodes);
        Expr(inner)
    }

    pub(super) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(super) fn sign(&self) -> Sign {
        self.0.sign
    }

    pub(super) fn number(&self) -> Option<Number> {
        match self.node() {
            Node::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.number().is_some_and(Number::is_zero)
    }

    /// The subexpressions directly below.
    pub(super) fn children(&self) -> &[Expr] {
        match self.node() {
            Node::Number(_) | Node::Constant(_) | Node::Variable(_) => &[],
            Node::Sum(children) | Node::Product(children) => children,
            // exponents are visited by `operands`
            Node::Power(base, _) => std::slice::from_ref(base),
            Node::Call(_, argument) => std::slice::from_ref(argument),
        }
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = &Expr> {
        let exponent = match self.node() {
            Node::Power(_, exponent) => Some(exponent),
            _ => None,
        };
        self.children().iter().chain(exponent)
    }

    /// Base and exponent; the exponent of anything but a power is one.
    pub(super) fn base_and_exponent(&self) -> (Expr, Expr) {
        match self.node() {
            Node::Power(base, exponent) => (base.clone(), exponent.clone()),
            _ => (self.clone(), Expr::from(1)),
        }
    }

    /// Names of the variables, sorted.
    pub fn free_variables(&self) -> Vec<String> {
        let mut names: Vec<String> = postorder(std::slice::from_ref(self))
            .iter()
            .filter_map(|e| match e.node() {
                Node::Variable(name) => Some(name.to_string()),
                _ => None,
            })
            .collect();
        names.sort();
        names
    }

    /// Number of different subexpressions, itself among them.
    pub fn node_count(&self) -> usize {
        postorder(std::slice::from_ref(self)).len()
    }
}

/// Every subexpression once, operands before the expressions that use them. No recursion: depth costs no stack.
pub(super) fn postorder(roots: &[Expr]) -> Vec<Expr> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<(Expr, bool)> = roots.iter().rev().map(|root| (root.clone(), false)).collect();
    while let Some((e, operands_done)) = stack.pop() {
        if operands_done {
            order.push(e);
        } else if seen.insert(e.clone()) {
            let operands: Vec<_> = e.operands().map(|operand| (operand.clone(), false)).collect();
            stack.push((e, true));
            stack.extend(operands.into_iter().rev());
        }
    }
    order
}

impl Node {
    fn shallow_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        std::mem::discriminant(self).hash(&mut hasher);
        match self {
            Node::Number(number) => number.key().hash(&mut hasher),
            Node::Constant(constant) => constant.hash(&mut hasher),
            Node::Variable(name) => name.hash(&mut hasher),
            Node::Sum(children) | Node::Product(children) => children.hash(&mut hasher),
            Node::Power(base, exponent) => (base, exponent).hash(&mut hasher),
            Node::Call(function, argument) => (function, argument).hash(&mut hasher),
        }
        hasher.finish()
    }

    fn same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Number(a), Node::Number(b)) => a.key() == b.key(),
            (Node::Constant(a), Node::Constant(b)) => a == b,
            (Node::Variable(a), Node::Variable(b)) => a == b,
            (Node::Sum(a), Node::Sum(b)) | (Node::Product(a), Node::Product(b)) => a == b,
            (Node::Power(a, c), Node::Power(b, d)) => a == b && c == d,
            (Node::Call(f, a), Node::Call(g, b)) => f == g && a == b,
            _ => false,
        }
    }

    fn sign(&self) -> Sign {
        let all = |children: &[Expr]| children.iter().all(|child| child.sign() != Sign::Unknown);
        let any_positive = |children: &[Expr]| children.iter().any(|child| child.sign() == Sign::Positive);
        let all_positive = |children: &[Expr]| children.iter().all(|child| child.sign() == Sign::Positive);
        let (positive, not_negative) = match self {
            Node::Number(number) => (number.value() > 0.0, number.value() >= 0.0),
            Node::Constant(_) => (true, true),
            Node::Variable(_) => (false, false),
            Node::Sum(terms) => (all(terms) && any_positive(terms), all(terms)),
            Node::Product(factors) => (all_positive(factors), all(factors)),
            Node::Power(base, exponent) => {
                let even = exponent.number().and_then(Number::integer).is_some_and(|n| n % 2 == 0);
                (base.sign() == Sign::Positive, base.sign() != Sign::Unknown || even)
            }
            Node::Call(Function::Exp | Function::Cosh | Function::Sigmoid, _) => (true, true),
            Node::Call(Function::Abs, argument) => (argument.sign() == Sign::Positive, true),
            Node::Call(..) => (false, false),
        };
        match (positive, not_negative) {
            (true, _) => Sign::Positive,
            (false, true) => Sign::NotNegative,
            (false, false) => Sign::Unknown,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut doomed = vec![std::mem::replace(&mut self.node, Node::Number(Number::ZERO))];
        forget(self.hash, self);
        // operands that die with this node are taken apart here, not by recursion
        while let Some(node) = doomed.pop() {
            let operands = match node {
                Node::Number(_) | Node::Constant(_) | Node::Variable(_) => continue,
                Node::Sum(children) | Node::Product(children) => children,
                Node::Power(base, exponent) => vec![base, exponent],
                Node::Call(_, argument) => vec![argument],
            };
            for operand in operands {
                if let Some(mut inner) = Arc::into_inner(operand.0) {
                    doomed.push(std::mem::replace(&mut inner.node, Node::Number(Number::ZERO)));
                }
            }
        }
    }
}

/// Removes a dying node, and any other dead one of its hash, from the table.
fn forget(hash: u64, dying: *const Inner) {
    let mut nodes = nodes();
    if let Some(bucket) = nodes.get_mut(&hash) {
        bucket.retain(|weak| !std::ptr::eq(weak.as_ptr(), dying) && weak.strong_count() > 0);
        if bucket.is_empty() {
            nodes.remove(&hash);
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Expr) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expr {
    /// The canonical order: by base first, so that powers stand beside their base; numbers, constants, variables by
    /// name, calls, sums. Walks down to the first difference; equal parts are the same node and cost nothing.
    fn cmp(&self, other: &Expr) -> Ordering {
        let (mut a, mut b) = (self.clone(), other.clone());
        loop {
            if a == b {
                return Ordering::Equal;
            }
            let is_power = |e: &Expr| matches!(e.node(), Node::Power(..));
            if is_power(&a) || is_power(&b) {
                let ((base_a, exponent_a), (base_b, exponent_b)) = (a.base_and_exponent(), b.base_and_exponent());
                (a, b) = if base_a == base_b { (exponent_a, exponent_b) } else { (base_a, base_b) };
                continue;
            }
            let next = match (a.node(), b.node()) {
                (Node::Number(x), Node::Number(y)) => return x.compare(*y),
                (Node::Constant(x), Node::Constant(y)) => return x.cmp(y),
                (Node::Variable(x), Node::Variable(y)) => return x.cmp(y),
                (Node::Call(f, x), Node::Call(g, y)) if f == g => (x.clone(), y.clone()),
                (Node::Call(f, _), Node::Call(g, _)) => return f.cmp(g),
                (Node::Sum(x), Node::Sum(y)) | (Node::Product(x), Node::Product(y)) => {
                    match x.iter().zip(y).find(|(x, y)| x != y) {
                        Some((x, y)) => (x.clone(), y.clone()),
                        None => return x.len().cmp(&y.len()),
                    }
                }
                (x, y) => return x.rank().cmp(&y.rank()),
            };
            (a, b) = next;
        }
    }
}

impl Node {
    fn rank(&self) -> u8 {
        match self {
            Node::Number(_) => 0,
            Node::Constant(_) => 1,
            Node::Variable(_) => 2,
            Node::Call(..) => 3,
            Node::Power(..) => 4,
            Node::Product(_) => 5,
            Node::Sum(_) => 6,
        }
    }
}
