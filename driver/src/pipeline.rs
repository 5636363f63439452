//! The compiler on one page: every pass between the module as read and the bytes of the file, in the order in
//! which they run.
//!
//! What comes before: the reader, and the choice of the target, for which functions of other processors are
//! dropped (`incompatible`). The list is what runs ([`crate::compile`]); each entry can be timed, printed
//! before and after, stopped at, started from and verified behind. A name is the one of the command line; the
//! stages are what the pass needs and leaves. The order is checked when this file is compiled: by the stages,
//! by what passes work on, and by [`CONSTRAINTS`].

use crate::callees;
use crate::pass::{Constraint, Pass, Run, Stage, check_order};
use crate::prepare;
use Run::{Analysis, Encode, Final, Function, Machine, Module, Program, Select, Write};
use Stage::{Described, Encoded, Expanded, Legal, Read, Written};
use mir::analysis::Uniformity;
use mir::machine::Stage as M;

const SELECTED: Stage = Stage::Machine(M::Selected);
const LINEAR: Stage = Stage::Machine(M::Linear);
const MODELLED: Stage = Stage::Machine(M::Modelled);
const ALLOCATED: Stage = Stage::Machine(M::Allocated);
const WAVE: Stage = Stage::Machine(M::Wave);
const FRAMED: Stage = Stage::Machine(M::Framed);
const WAITED: Stage = Stage::Machine(M::Waited);
const FINAL: Stage = Stage::Machine(M::Final);

#[rustfmt::skip]
/// All passes in order.
pub const PASSES: &[Pass] = &[
    // The module as read: what the command line adds, and the calls that are to disappear.
    Pass::new("apply-options", Read, Read, Module(|m, cx| { prepare::apply_options(m, cx); Ok(()) })),
    Pass::new("lower-printf", Read, Read, Module(|m, _| opt::printf::lower(m))),
    Pass::new("lower-variadics", Read, Read, Module(|m, _| { opt::variadic::lower(m); Ok(()) })),
    Pass::new("inline", Read, Read, Module(|m, cx| opt::inline::inline_all(m, cx.target, cx.settings.opt_level))),
    Pass::new("declare-types", Read, Read, Module(|m, _| { opt::legalize::declare_types(m); Ok(()) })),
    Pass::optimisation("align-lds", Read, Module(|m, cx| { opt::alignment::align_variables(m, cx.target); Ok(()) })).from_level(2),
    // IR, function by function, to legal IR.
    Pass::optimisation("promote", Read, Function(|f, cx| { opt::promote::promote(f, &cx.module.types); Ok(()) })),
    Pass::optimisation("flatten", Read, Function(|f, _| { opt::flatten::flatten(f); Ok(()) })).from_level(2),
    Pass::optimisation("share-stack", Read, Function(|f, _| { opt::share_stack::share(f); Ok(()) })),
    Pass::optimisation("join-arguments", Read, Function(|f, _| { opt::join_arguments::join(f); Ok(()) })).from_level(2),
    Pass::optimisation("fold-work-group-size", Read, Function(|f, cx| { opt::work_group_size::fold(f, cx.module, cx.target); Ok(()) })),
    Pass::optimisation("mark-dereferenceable", Read, Function(|f, cx| { opt::dereferenceable::mark(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("align-stack", Read, Function(|f, cx| { opt::alignment::raise_on_stack(f, cx.module); Ok(()) })).from_level(2),
    Pass::new("legalize", Read, Expanded, Function(|f, cx| opt::legalize::run(f, cx.module, cx.target, cx.settings))),
    Pass::new("fold-branches", Expanded, Expanded, Function(|f, _| { opt::constant_branches::fold(f); Ok(()) })),
    Pass::new("dce", Expanded, Expanded, Function(|f, _| { opt::dce::remove_dead(f); Ok(()) })),
    Pass::optimisation("simplify-cfg", Expanded, Function(|f, _| { opt::branches::clean_up(f); Ok(()) })),
    Pass::optimisation("narrow", Expanded, Function(|f, _| { opt::narrow::narrow(f); Ok(()) })),
    Pass::new("fold-late-branches", Expanded, Legal, Function(|f, _| { opt::constant_branches::fold(f); Ok(()) })),
    Pass::new("fix-irreducible", Legal, Legal, Function(|f, _| { opt::reducible::make_reducible(f); Ok(()) })),
    Pass::optimisation("hoist-launch-loads", Legal, Function(|f, cx| { opt::launch_loads::hoist(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("gvn", Legal, Function(|f, cx| { opt::gvn::number(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("raise-alignment", Legal, Function(|f, cx| { opt::alignment::raise(f, cx.module); Ok(()) })).from_level(2),
    Pass::optimisation("join-branches", Legal, Function(|f, _| { opt::join_branches::join(f); Ok(()) })).from_level(2),
    Pass::optimisation("share-addresses", Legal, Function(|f, _| { opt::shared_addresses::share(f); Ok(()) })).from_level(2),
    Pass::optimisation("licm", Legal, Function(|f, cx| { opt::licm::hoist(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("no-clobber", Legal, Function(|f, cx| { opt::no_clobber::mark(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("choose-unrolling", Legal, Function(|f, _| { opt::unroll::choose(f); Ok(()) })).from_level(2),
    Pass::optimisation("induction", Legal, Function(|f, cx| { opt::induction::reduce(f, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("unroll", Legal, Function(|f, cx| { opt::unroll::unroll(f, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("join-products", Legal, Function(|f, _| { opt::products::join(f); Ok(()) })),
    Pass::optimisation("reduce-strength", Legal, Function(|f, cx| { opt::strength::reduce(f, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("merge-memory", Legal, Function(|f, cx| { opt::merge_memory::merge_memory(f, cx.module, cx.target); Ok(()) })),
    Pass::optimisation("pack-halves", Legal, Function(|f, cx| { opt::pack_halves::pack_halves(f, cx.target); Ok(()) })),
    Pass::optimisation("choose-elements", Legal, Function(|f, cx| { opt::chosen_elements::choose(f, cx.target); Ok(()) })),
    Pass::optimisation("sink", Legal, Function(|f, cx| { opt::sink::sink(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("pipeline-loads", Legal, Function(|f, cx| { opt::pipeline_loads::pipeline(f, cx.module, cx.target); Ok(()) })).from_level(2),
    Pass::optimisation("unfold-selects", Legal, Function(|f, _| { opt::unfold_selects::unfold(f); Ok(()) })),
    Pass::optimisation("dce-merged", Legal, Function(|f, _| { opt::dce::remove_dead(f); Ok(()) })),
    Pass::optimisation("narrow-loads", Legal, Function(|f, cx| { opt::unused_elements::narrow(f, cx.target); Ok(()) })),
    Pass::optimisation("join-atomics", Legal, Function(|f, cx| { opt::wave_atomics::join(f, cx.target); Ok(()) })).from_level(2),
    Pass::new("waterfall", Legal, Legal, Function(|f, cx| { opt::waterfall::expand(f, cx.target); Ok(()) })),
    // What callers and kernels must provide.
    Pass::new("check-generic", Legal, Legal, Module(|m, cx| opt::generic::check(m, &|f| cx.target_of(f)))),
    Pass::new("find-inputs", Legal, Legal, Module(|m, cx| opt::callgraph::find_inputs(m, &|f| cx.target_of(f)))),
    Pass::new("lay-out-lds", Legal, Legal, Module(|m, cx| { mir::abi::lds::lay_out(m, cx.target.os); Ok(()) })),
    // Machine code, function by function, on all threads.
    Pass::new("uniformity", Legal, Legal, Analysis(|cx| Uniformity::compute(cx.ir(), cx.target))),
    Pass::new("select", Legal, SELECTED, Select(|cx, u| isel::select::select(cx.module, cx.func, u, cx.target, cx.settings))),
    Pass::optimisation("merge-scalar-loads", SELECTED, Machine(|f, _| { isel::merge_scalar_loads::merge(f); Ok(()) })),
    Pass::optimisation("combine", SELECTED, Machine(|f, cx| { isel::combine::combine(f, cx.target); Ok(()) })),
    Pass::new("linearise", SELECTED, LINEAR, Machine(|f, _| isel::linearise::linearise(f))),
    Pass::new("memory-model", LINEAR, MODELLED, Machine(|f, cx| { isel::memory_model::apply(f, cx.target, cx.options.memory_model); Ok(()) })),
    Pass::optimisation("pair-lds", MODELLED, Machine(|f, cx| { schedule::pair_lds(f, cx.target); Ok(()) })),
    Pass::optimisation("hoist-over-barriers", MODELLED, Machine(|f, cx| { schedule::hoist_over_barriers(f, cx.target); Ok(()) })),
    Pass::optimisation("late-next-values", MODELLED, Machine(|f, _| { schedule::compute_late(f); Ok(()) })),
    Pass::optimisation("schedule", MODELLED, Machine(|f, cx| schedule::schedule(f, cx.target, &prepare::schedule_options(cx)?))),
    Pass::optimisation("hoist-invariants", MODELLED, Machine(|f, cx| { schedule::hoist_invariants(f, cx.target, &prepare::schedule_options(cx)?); Ok(()) })).from_level(2),
    Pass::optimisation("share-moves", MODELLED, Machine(|f, cx| { schedule::share_moves(f, cx.target, &prepare::schedule_options(cx)?); Ok(()) })).from_level(2),
    Pass::optimisation("note-callees", MODELLED, Machine(callees::note)),
    Pass::new("allocate", MODELLED, ALLOCATED, Machine(|f, cx| regalloc::allocate(f, cx.target, &prepare::register_limits(cx)?))),
    Pass::new("remove-identity-moves", ALLOCATED, ALLOCATED, Machine(|f, _| { lower::identity_moves::remove(f); Ok(()) })),
    Pass::new("simplify-exec", ALLOCATED, WAVE, Machine(|f, cx| { lower::exec::simplify(f, cx.target); Ok(()) })),
    Pass::new("expand-exec-regions", WAVE, WAVE, Machine(|f, _| { lower::exec_regions::expand(f); Ok(()) })),
    Pass::new("insert-prolog", WAVE, FRAMED, Machine(|f, cx| lower::frame::insert_prolog(f, cx.target))),
    Pass::new("build-scratch-resource", FRAMED, FRAMED, Machine(|f, cx| lower::scratch::build_resource(f, cx.module, cx.target))),
    Pass::optimisation("shrink", FRAMED, Machine(|f, cx| { lower::shrink::shrink(f, cx.target); Ok(()) })),
    Pass::optimisation("schedule-allocated", FRAMED, Machine(|f, cx| schedule::schedule_allocated(f, cx.target, cx.options.verify))),
    Pass::optimisation("remove-repeated-compares", FRAMED, Machine(|f, _| { lower::compares::remove_repeated(f); Ok(()) })),
    Pass::optimisation("branch-on-vcc", FRAMED, Machine(|f, cx| { lower::vcc_branches::branch_on_vcc(f, cx.target); Ok(()) })),
    Pass::new("expand-inline-asm", FRAMED, FRAMED, Machine(|f, cx| lower::inline_asm::expand(f, cx.module, cx.target))),
    Pass::new("insert-waits", FRAMED, WAITED, Machine(|f, cx| { lower::waits::insert_waits(f, cx.target); Ok(()) })),
    Pass::new("expand-indexed", WAITED, WAITED, Machine(|f, cx| { lower::indexed::expand(f, cx.target); Ok(()) })),
    Pass::new("insert-nops", WAITED, WAITED, Machine(|f, cx| { lower::hazards::insert_nops(f, cx.target); Ok(()) })),
    Pass::optimisation("form-clauses", WAITED, Machine(|f, cx| { lower::clauses::insert(f, cx.target); Ok(()) })),
    Pass::new("count-registers", WAITED, WAITED, Machine(|f, _| { lower::registers::count(f); Ok(()) })),
    Pass::new("fold-blocks", WAITED, WAITED, Machine(|f, _| { lower::blocks::fold_empty_blocks(f); Ok(()) })),
    Pass::new("expand-pseudos", WAITED, WAITED, Machine(|f, _| { lower::pseudos::expand(f); Ok(()) })),
    Pass::optimisation("copy-latches", WAITED, Machine(|f, cx| { if !prepare::is_for_size(cx) { lower::latches::copy(f); } Ok(()) })).from_level(2),
    Pass::new("lower-branches", WAITED, FINAL, Machine(|f, _| { lower::branches::lower(f); Ok(()) })),
    Pass::optimisation("align-code", FINAL, Machine(|f, cx| if prepare::is_for_size(cx) { Ok(()) } else { lower::align::align(f, cx.target) })).from_level(2),
    // Bytes.
    Pass::new("encode", FINAL, Encoded, Encode(|f, cx| lower::encode::encode(f, cx.target))),
    Pass::new("describe-kernel", Encoded, Described, Final(|f, cx| lower::describe::describe(f, cx.module, cx.target))),
    Pass::new("add-callees", Described, Described, Program(|fs, m, cx| lower::callgraph::complete_kernels(fs, m, &|f| cx.target_of(f), cx.options.assumed_stack))),
    Pass::new("write", Described, Written, Write(prepare::write)),
];

/// What the stages do not say.
pub const CONSTRAINTS: &[Constraint] = &[
    ("apply-options", "inline", "attributes decide what is inlined"),
    ("lower-printf", "lower-variadics", "arguments of printf are stored one by one"),
    ("lower-variadics", "inline", "a body with variable arguments is not inlined"),
    ("inline", "promote", "objects whose address was an argument become values"),
    ("declare-types", "legalize", "results of expansions have types of the module"),
    ("promote", "share-stack", "objects that become values need no place"),
    ("share-stack", "legalize", "only IR as read says how long objects live"),
    ("promote", "align-stack", "what becomes a value needs no alignment"),
    ("align-stack", "legalize", "accesses that are not aligned are taken apart"),
    ("promote", "flatten", "arrays that became vectors have elements"),
    ("flatten", "legalize", "elements are registers where their numbers are known"),
    ("promote", "legalize", "promotion knows accesses of any type"),
    ("fold-branches", "dce", "what only unreachable blocks use is dead"),
    ("dce", "simplify-cfg", "small arms are those without dead code"),
    ("narrow", "fold-late-branches", "narrowing finds constant conditions"),
    ("fix-irreducible", "gvn", "the order of blocks has loops contiguous"),
    ("gvn", "licm", "loads of one place are one load"),
    ("licm", "no-clobber", "a load in front of a loop is not behind its stores"),
    ("licm", "choose-unrolling", "what is the same in each iteration is not copied"),
    ("choose-unrolling", "induction", "limits and indices are seen as they come"),
    ("induction", "unroll", "pointers run on from a wide loop to what it leaves over"),
    ("unroll", "merge-memory", "accesses of neighbouring iterations are neighbours"),
    ("unroll", "dce-merged", "counters of copies are dead where addresses follow the first"),
    ("no-clobber", "induction", "a running pointer does not show the argument that it starts from"),
    ("licm", "induction", "bases and steps are outside of the loop"),
    ("no-clobber", "merge-memory", "accesses that are merged promise the same"),
    ("gvn", "join-products", "equal factors are one value"),
    ("join-products", "dce-merged", "what was computed from separate products is dead"),
    ("unroll", "reduce-strength", "rows of neighbouring iterations are neighbours"),
    ("reduce-strength", "dce-merged", "products that nobody adds are dead"),
    ("merge-memory", "pack-halves", "what is merged is a dword, whose halves pair"),
    ("induction", "pipeline-loads", "addresses are variables of the loop"),
    ("merge-memory", "pipeline-loads", "one load is done ahead, not each part of it"),
    ("induction", "choose-elements", "an index of a loop that is gone is a number"),
    ("choose-elements", "dce-merged", "elements that all choices leave aside are dead"),
    ("merge-memory", "sink", "loads of neighbours are one load, whoever needs them"),
    ("sink", "pipeline-loads", "what a loop asks for ahead stays where it is"),
    ("pack-halves", "pipeline-loads", "what is packed is next to its load"),
    ("pipeline-loads", "dce-merged", "what was computed for the loads' old places is dead"),
    ("gvn", "unfold-selects", "a choice that others share is left alone"),
    ("unfold-selects", "dce-merged", "the choice of 0 is dead"),
    ("pack-halves", "dce-merged", "what is packed is dead where it was"),
    ("merge-memory", "dce-merged", "addresses of merged accesses are dead"),
    ("dce-merged", "narrow-loads", "what is dead uses no element"),
    ("pipeline-loads", "join-atomics", "a loop of one block is one until its loads are ahead"),
    ("fix-irreducible", "waterfall", "loops made here have one entry"),
    ("memory-model", "pair-lds", "accesses stay on their side of waits that the model asks for"),
    ("pair-lds", "schedule", "what is one instruction is issued at once"),
    ("memory-model", "hoist-over-barriers", "waits stay beside their barriers"),
    ("hoist-over-barriers", "schedule", "nothing passes a barrier there"),
    ("late-next-values", "schedule", "variables of loops keep their registers there"),
    ("memory-model", "schedule", "order keeps to the waits that the model asks for"),
    ("schedule", "hoist-invariants", "latencies take registers first"),
    ("hoist-invariants", "share-moves", "what has left a loop needs no register of its block"),
    ("share-moves", "allocate", "what is shared is virtual"),
    ("note-callees", "allocate", "values live across calls where callees leave them alone"),
    ("remove-identity-moves", "simplify-exec", "blocks of such moves alone are empty"),
    ("simplify-exec", "expand-exec-regions", "writes of EXEC inside of regions are not its own"),
    ("expand-exec-regions", "insert-prolog", "the prolog runs with the lanes of the entry"),
    ("insert-prolog", "build-scratch-resource", "its code stands in front of the prolog"),
    ("build-scratch-resource", "shrink", "its code has constants, too"),
    ("shrink", "schedule-allocated", "short forms touch fewer registers"),
    ("build-scratch-resource", "schedule-allocated", "its code may stand in latencies, too"),
    ("schedule-allocated", "remove-repeated-compares", "order keeps comparisons beside their readers"),
    ("remove-repeated-compares", "expand-inline-asm", "assembly stays as it was written"),
    ("remove-repeated-compares", "branch-on-vcc", "SCC has the readers that it keeps"),
    ("branch-on-vcc", "expand-inline-asm", "assembly may write VCC"),
    ("schedule-allocated", "expand-inline-asm", "assembly stays in one piece"),
    ("expand-inline-asm", "insert-waits", "waits know the instructions of assembly"),
    ("insert-waits", "expand-indexed", "an indexed access counts as one of the whole tuple"),
    ("expand-indexed", "insert-nops", "indexed moves have hazards"),
    ("insert-nops", "count-registers", "mitigations may name registers"),
    ("insert-nops", "form-clauses", "a clause holds accesses alone"),
    ("insert-nops", "expand-pseudos", "INLINE_ASM marks code that is not looked into"),
    ("count-registers", "expand-pseudos", "INLINE_ASM names what its text takes"),
    ("fold-blocks", "lower-branches", "a branch to an empty block is a branch to what follows"),
    ("fold-blocks", "copy-latches", "a latch is what a loop goes back from"),
    ("copy-latches", "lower-branches", "branches follow from the order of blocks"),
    ("lower-branches", "align-code", "all instructions have their sizes"),
    ("expand-pseudos", "lower-branches", "branches stand at the end of a block"),
];

const _: () = check_order(PASSES, CONSTRAINTS);
