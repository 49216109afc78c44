//! Tests of the syllabus counter.

use super::*;

fn items() -> Items {
    load_items().expect("the list is readable")
}

fn test(name: &str, status: Status) -> Test {
    Test { program: "p".into(), name: name.into(), status }
}

fn names(ids: &[Id]) -> Vec<String> {
    ids.iter().map(Id::to_string).collect()
}

#[test]
fn the_list_has_every_item_once() {
    let items = items();
    assert_eq!(items.len(), 279);
    let per_letter = |letter| items.keys().filter(|id| id.letter == letter).count();
    let counts: Vec<usize> = ('A'..='L').map(per_letter).collect();
    assert_eq!(counts, [17, 36, 38, 17, 16, 29, 14, 36, 10, 12, 25, 29]);
    // Numbers run from 1 without a gap.
    assert!(items.keys().all(|id| id.number as usize <= per_letter(id.letter)));
}

#[test]
fn ids_are_read_from_the_start_of_the_last_segment() {
    let items = items();
    assert_eq!(names(&ids_of("autodiff::tests::b14_b16_tangent_shapes", &items)), ["B14", "B16"]);
    assert_eq!(names(&ids_of("a1_shape_and_rank", &items)), ["A1"]);
    assert_eq!(names(&ids_of("k7", &items)), ["K7"]);
    // Ids later in the name, of a module, unknown, or with other characters claim nothing.
    for name in ["shows_b14", "b14_module::plain", "f32_sums", "b99_x", "b14x_y", "b014_x", "b_14", "z1_x", ""] {
        assert!(ids_of(name, &items).is_empty(), "{name}");
    }
}

#[test]
fn only_passed_tests_count_and_a_failed_one_takes_the_item_back() {
    let tests = [
        test("b1_gradient", Status::Passed),
        test("b2_direction", Status::Failed),
        test("b3_jacobian", Status::Ignored),
        test("b4_rows", Status::Skipped("no data".into())),
        test("b5_chain", Status::Passed),
        test("x::b5_b6_taylor", Status::Failed),
        test("b7_b8_differences", Status::Passed),
    ];
    let coverage = coverage(&tests, &items());
    assert_eq!(names(&coverage.covered.keys().copied().collect::<Vec<_>>()), ["B1", "B7", "B8"]);
    assert_eq!(names(&coverage.failed.keys().copied().collect::<Vec<_>>()), ["B2", "B5", "B6"]);
    assert_eq!(coverage.skipped.len(), 2);
}

#[test]
fn letters_are_checked() {
    let items = items();
    let parse = |letters: &[&str]| {
        let letters: Vec<String> = letters.iter().map(ToString::to_string).collect();
        parse_letters(&letters.iter().collect::<Vec<_>>(), &items)
    };
    assert_eq!(parse(&["a", "B"]), Ok(vec!['A', 'B']));
    assert_eq!(parse(&[]).map(|letters| letters.len()), Ok(12));
    assert!(parse(&["M"]).is_err_and(|message| message.contains("no syllabus letter M")));
    assert!(parse(&["AB"]).is_err());
}

#[test]
fn a_malformed_list_names_its_line() {
    for text in ["A1\tone\nA1\ttwo", "A1\tone\nA2 two", "A1\tone\nA2\t"] {
        assert!(parse_items(text).is_err_and(|message| message.contains("line 2")), "{text}");
    }
}

#[test]
fn ids_sort_by_letter_then_number() {
    let mut ids: Vec<Id> = ["B10", "A17", "B9"].iter().filter_map(|text| Id::parse(text)).collect();
    ids.sort();
    assert_eq!(names(&ids), ["A17", "B9", "B10"]);
}
