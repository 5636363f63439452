//! The page by its structure: links that lead somewhere, both ways; escaping; size; the same bytes each time.

mod common;

use common::{BODY, assemble, kernel};
use report::{Inputs, IrFunction, IrLine, IrText, Report, gather, html};
use scraper::{ElementRef, Html, Selector};
use std::collections::{BTreeMap, BTreeSet};

/// A name that would be a tag, an attribute's end, a script.
const HOSTILE: &str = "k<script>alert('1')</script>&' onload=x";

fn select(text: &str) -> Selector {
    Selector::parse(text).expect("the selector is right")
}

fn ids(page: &Html) -> BTreeSet<String> {
    let ids: Vec<String> =
        page.select(&select("[id]")).filter_map(|e| Some(e.attr("id")?.to_owned())).collect();
    let set: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(set.len(), ids.len(), "ids are not unique");
    set
}

/// IR beside `instructions` of `function`: each second one has a line, each third of these a source line.
fn ir(function: &str, instructions: u32) -> IrText {
    let line = |n: u32| IrLine {
        text: format!("  v{n}: i32 = add v0, i32 {n} </table><script>alert(2)</script>"),
        source: n.is_multiple_of(3).then_some((0, n / 3 + 1)),
    };
    let lines: Vec<IrLine> = (0..instructions / 2).map(line).collect();
    let positions = (0..instructions / 2).map(|n| (8 * n, n + 1)).collect();
    IrText {
        functions: vec![IrFunction { name: function.to_owned(), first: 1, lines }],
        files: vec!["a<b>&\".cl".to_owned()],
        positions: BTreeMap::from([(function.to_owned(), positions)]),
    }
}

fn report_of(name: &str, body: &str, ir: Option<&IrText>) -> Report {
    let object = assemble(&kernel("gfx900", name, body), "gfx900").object;
    let read_source = |_: &str| Some("int <a> & b;\nx\n\"y\"\n".repeat(2000));
    let inputs =
        Inputs { object: &object, name: "<i>in & \"put\"</i>.ll", ir, run: None, read_source: &read_source };
    gather(&inputs).expect("the object is right")
}

/// Every link leads to an id, and what it leads to leads back to one that belongs with it.
#[test]
fn links_lead_both_ways() {
    let data = report_of("k", BODY, Some(&ir("k", 30)));
    let page = Html::parse_document(&html(&data));
    let ids = ids(&page);
    let links: Vec<&str> = page.select(&select("a[href]")).filter_map(|e| e.attr("href")).collect();
    assert!(links.len() > 60, "{}", links.len());
    for link in &links {
        let id = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leaves the page"));
        assert!(ids.contains(id), "{link} leads nowhere");
    }
    let row = |id: &str| page.select(&select(&format!("tr[id=\"{id}\"]"))).next().expect("a row");
    let first_link =
        |row: ElementRef| row.select(&select("td.n a")).next().and_then(|a| Some(a.attr("href")?.to_owned()));
    let kernel = data.functions.iter().position(|f| f.name == "k").expect("the kernel is there");
    let mut linked = 0;
    for (index, line) in data.functions[kernel].lines.iter().enumerate() {
        let machine = row(&format!("m{kernel}-{index}"));
        let Some(number) = line.ir else { continue };
        assert_eq!(first_link(machine), Some(format!("#i{kernel}-{number}")));
        assert_eq!(machine.attr("data-i"), Some(&*number.to_string()));
        // The IR line leads to the first of its instructions.
        let back = first_link(row(&format!("i{kernel}-{number}"))).expect("IR leads back");
        let to: usize = back.rsplit('-').next().and_then(|n| n.parse().ok()).expect("a line");
        assert_eq!(data.functions[kernel].lines[to].ir, Some(number));
        if let Some((file, source)) = line.source {
            let source = row(&format!("s{kernel}-{file}-{source}"));
            assert_eq!(source.attr("data-s"), machine.attr("data-s"));
            assert!(first_link(source).is_some_and(|link| link.starts_with(&format!("#i{kernel}-"))));
            linked += 1;
        }
    }
    assert!(linked > 5, "{linked}");
}

/// Without IR, machine code and source lead to each other; here there is neither, and nothing is said of them.
#[test]
fn an_object_alone() {
    let page = Html::parse_document(&html(&report_of("k", BODY, None)));
    ids(&page);
    assert_eq!(page.select(&select(".column")).count(), 2, "one column for each function");
    let texts: Vec<String> = page.select(&select("caption")).map(|e| e.text().collect()).collect();
    assert!(texts.iter().all(|text| text.starts_with("Machine code")), "{texts:?}");
}

#[test]
fn names_and_texts_are_escaped() {
    let data = report_of(HOSTILE, BODY, Some(&ir(HOSTILE, 30)));
    let text = html(&data);
    let page = Html::parse_document(&text);
    assert_eq!(page.select(&select("script")).count(), 1, "a name became a script");
    assert_eq!(page.select(&select("b i, i, [onload]")).count(), 0, "a name became an element");
    let title: String = page.select(&select("h2 code")).next().expect("a title").text().collect();
    assert_eq!(title, HOSTILE);
    let head: String = page.select(&select("h1")).next().expect("a head").text().collect();
    assert_eq!(head, "<i>in & \"put\"</i>.ll");
    let captions: Vec<String> = page.select(&select("caption")).map(|e| e.text().collect()).collect();
    assert!(captions.iter().any(|caption| caption.contains("a<b>&\".cl")), "{captions:?}");
    assert!(page.select(&select("td")).any(|e| e.text().collect::<String>().contains("int <a> & b;")));
    assert!(!text.contains("<script>alert"));
}

#[test]
fn facts_are_on_the_page() {
    let data = report_of("k", BODY, None);
    let k = data.functions.iter().find(|f| f.kernel).expect("the kernel is there");
    let occupancy = k.occupancy.as_ref().expect("a kernel has an occupancy");
    // 48 VGPRs leave room for five waves; 44 are too many for six.
    assert_eq!((occupancy.waves, &*occupancy.limited_by), (5, &["VGPRs"][..]));
    assert_eq!(occupancy.next, ["VGPRs: 40 at most, 8 fewer"]);
    assert_eq!(k.resources.map(|r| (r.lds_bytes, r.scratch_bytes, r.vgpr_spills)), Some((4096, 16, 1)));
    // v0 for LDS and the lane, v[1:2] as address, v3 to v5 loaded.
    assert!(k.peak.vgprs >= 5, "{:?}", k.peak);
    let wait = k.lines.iter().find(|line| line.text == "s_waitcnt vmcnt(2)").expect("the wait is there");
    assert!(wait.cost.stall > 50, "{:?}", wait.cost);
    let page = Html::parse_document(&html(&data));
    let words: String = page.select(&select("p.occupancy")).next().expect("a paragraph").text().collect();
    assert!(words.contains("5 of 10 waves") && words.contains("40 at most"), "{words}");
    assert_eq!(page.select(&select("svg.plot")).count(), 2);
    let boxes = page.select(&select("svg.flow rect")).count();
    assert_eq!(boxes, data.functions.iter().map(|f| f.blocks.len()).sum::<usize>());
    let small: String = page.select(&select("small")).flat_map(|e| e.text()).collect();
    assert!(small.contains("vmcnt(2) waits for") && small.contains("VALU writes SGPR, VMEM reads it"));
}

/// Registers that are alive, by hand: a loaded value up to its last reader, across a branch.
#[test]
fn live_registers() {
    let body = "\tv_mov_b32_e32 v1, 1\n\tv_mov_b32_e32 v2, 2\n\ts_cbranch_scc0 .Lx\n\tv_mov_b32_e32 v2, v1\n.Lx:\n\
                \tglobal_store_dword v[3:4], v2, off\n\ts_endpgm\n";
    let data = report_of("k", body, None);
    let k = data.functions.iter().find(|f| f.kernel).expect("the kernel is there");
    let live: Vec<u16> = k.lines.iter().map(|line| line.live.vgprs).collect();
    assert_eq!(live, [2, 3, 4, 3, 3, 0]);
    assert_eq!(
        k.blocks.iter().map(|b| (b.first, b.end, &*b.succs)).collect::<Vec<_>>(),
        [(0, 3, &[1, 2][..]), (3, 4, &[2]), (4, 6, &[])]
    );
}

/// Five thousand instructions with IR and source are below 2 MB, and the bytes are the same each time.
#[test]
fn large_pages_are_small_enough() {
    let mut body = String::new();
    for n in 0..500 {
        body.push_str(&format!(
            "\tglobal_load_dword v{a}, v[100:101], off offset:{n}\n\ts_waitcnt vmcnt(0)\n\tv_cmp_gt_u32_e32 vcc, v{a}, v{b}\n\
             \ts_and_saveexec_b64 s[20:21], vcc\n\ts_cbranch_execz .Lx{n}\n\tv_mul_lo_u32 v{b}, v{a}, v{a}\n\
             \tv_add_u32_e32 v{b}, v{a}, v{b}\n.Lx{n}:\n\ts_or_b64 exec, exec, s[20:21]\n\tv_xor_b32_e32 v{b}, 7, v{b}\n\
             \tv_lshlrev_b32_e32 v{a}, 1, v{b}\n",
            a = 1 + n % 40,
            b = 50 + n % 30
        ));
    }
    body.push_str("\ts_endpgm\n");
    let ir = ir("k", 5000);
    let data = report_of("k", &body, Some(&ir));
    assert!(data.functions.iter().any(|f| f.lines.len() > 5000));
    let text = html(&data);
    assert!(text.len() < 2 << 20, "{} bytes", text.len());
    assert_eq!(text, html(&report_of("k", &body, Some(&ir))));
    let json = |data: &Report| serde_json::to_string(data).expect("plain data");
    assert_eq!(json(&data), json(&report_of("k", &body, Some(&ir))));
}
