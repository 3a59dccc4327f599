// The options of recurc. A verb is a visibility: an option is known to the verbs that list it.
include "llvm/Option/OptParser.td"

def TopLevel : OptionVisibility; // before any verb
def BuildVerb : OptionVisibility;
def ExplainVerb : OptionVisibility;
def CheckVerb : OptionVisibility;
def RunVerb : OptionVisibility;
def TargetsVerb : OptionVisibility;
def FormatVerb : OptionVisibility;
def LibraryVerb : OptionVisibility;

class HelpGroup<string title> : OptionGroup<title> {
  string HelpText = title;
}
def FilesGroup : HelpGroup<"Input and output">;
def SpecGroup : HelpGroup<"Specification">;
def TargetGroup : HelpGroup<"Target">;
def PlanGroup : HelpGroup<"Plan">;
def CheckGroup : HelpGroup<"Check">;
def StagesGroup : HelpGroup<"Stages">;
def DiagnosticsGroup : HelpGroup<"Diagnostics and help">;
def DevelopersGroup : HelpGroup<"For Recur's developers">;

// An option with a value, written --name=value or --name value.
multiclass Valued<string name, string metaVar, string help, OptionGroup group, list<OptionVisibility> verbs> {
  def NAME : Joined<["--"], name # "=">, MetaVarName<metaVar>, HelpText<help>, Group<group>, Visibility<verbs>;
  def NAME # _separate : Separate<["--"], name>, Alias<!cast<Option>(NAME)>, Group<group>, Visibility<verbs>;
}
class Switch<string name, string help, OptionGroup group, list<OptionVisibility> verbs>
    : Flag<["--"], name>, HelpText<help>, Group<group>, Visibility<verbs>;

defvar everywhere = [TopLevel, BuildVerb, ExplainVerb, CheckVerb, RunVerb, TargetsVerb, FormatVerb, LibraryVerb];
defvar withSpec = [BuildVerb, ExplainVerb, CheckVerb, RunVerb];

def output : JoinedOrSeparate<["-"], "o">, MetaVarName<"BASE">, Group<FilesGroup>, Visibility<[BuildVerb]>,
             HelpText<"base path of the files to write, without a suffix; '-' is stdout (default: SPEC's name, in the current folder)">;
defm emit : Valued<"emit", "LIST", "artifacts to write: obj, lib, so, header, manifest, asm, llvm, ptx, cubin (default: obj, header, manifest), or mlir with --stop-after", FilesGroup, [BuildVerb]>;
defm depfile : Valued<"depfile", "FILE", "write FILE, which tells make and ninja that the artifacts depend on SPEC", FilesGroup, [BuildVerb]>;
defm in_folder : Valued<"in", "DIR", "folder with input.NAME.npy, param.NAME.npy and initial.NAME.npy", FilesGroup, [RunVerb]>;
defm out_folder : Valued<"out", "DIR", "folder for output.NAME.npy and final.NAME.npy; made if it is missing", FilesGroup, [RunVerb]>;
def format_check : Switch<"check", "change nothing; list the files that are not formatted, and exit with 2 if there are any", FilesGroup, [FormatVerb]>;

defm dim : Valued<"dim", "NAME=SIZE,...", "sizes of the dims", SpecGroup, withSpec>;
def define : JoinedOrSeparate<["-"], "D">, MetaVarName<"NAME=NUMBER">, Group<SpecGroup>, Visibility<withSpec>,
             HelpText<"give a const another number">;
defm recurrence : Valued<"recurrence", "NAME", "take only this recurrence of the file", SpecGroup, withSpec>;

defvar withTarget = withSpec;
def target : Joined<["--"], "target=">, MetaVarName<"NAME">, Group<TargetGroup>, Visibility<withTarget>,
             HelpText<"machine to compile for; see 'recurc targets' (default: host); build also takes a list NAME,NAME, from which a program uses the best target that its processor or GPU can run">,
             HelpTextForVariants<[ExplainVerb, CheckVerb], "also look at the kernels for this machine; see 'recurc targets' (default: none, only what holds for every target)">;
def target_separate : Separate<["--"], "target">, Alias<target>, Group<TargetGroup>, Visibility<withTarget>;
defm prefix : Valued<"prefix", "PREFIX", "put PREFIX before every name in the header and the object", TargetGroup, [BuildVerb]>;
def dtype : Joined<["--"], "dtype=">, MetaVarName<"TYPES">, Group<TargetGroup>, Visibility<withSpec>,
            HelpText<"types of the data: f32 (default), bf16 or f16; single arrays and states have others by name: bf16,g=f32,S=bf16">,
            HelpTextForVariants<[RunVerb], "type of the arrays written: f64, f32, f16 or bf16 (default: the engine's); for kernels, also types by name">;
def dtype_separate : Separate<["--"], "dtype">, Alias<dtype>, Group<TargetGroup>, Visibility<withSpec>;
defm precision : Valued<"precision", "NAME", "products of float32 data on a GPU: exact (default), or tf32, whose factors have 11 bits", TargetGroup, [BuildVerb, ExplainVerb, CheckVerb, RunVerb]>;
defm engine : Valued<"engine", "NAME", "what runs the recurrence: interpreter (default), chunk, tile, host", TargetGroup, [RunVerb]>;

def backward : Switch<"backward", "make the gradient's kernels too; or check, run or explain the gradient", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb, RunVerb]>;
def backward_of : Joined<["--"], "backward=">, MetaVarName<"LIST">, Group<PlanGroup>, Visibility<[BuildVerb, ExplainVerb, CheckVerb, RunVerb]>,
                  HelpText<"like --backward, but only the gradients of these inputs, params and initial states">;
def summaries : Switch<"summaries", "for several GPUs: make the kernels of sequences' parts too, which processors always have", PlanGroup, [BuildVerb]>;
def trees : Switch<"trees", "for GPUs: make the kernels for tokens that are tried as trees too", PlanGroup, [BuildVerb]>;
defm plan : Valued<"plan", "NAME", "auto (default), step, chunk, segment, scan or token-loop", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb, RunVerb]>;
defm chunk : Valued<"chunk", "N", "tokens in a chunk: 16, 32, 64 or 128 (default: by the target)", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb]>;

defm seed : Valued<"seed", "N", "start of the random numbers (default: 0)", CheckGroup, [CheckVerb]>;
def hard : Switch<"hard", "draw decays down to e^-20 a token, gains up to 2 and keys that are nearly alike", CheckGroup, [CheckVerb]>;
defm stages : Valued<"stages", "LIST", "compare only these stages, by their names in the table (default: all)", CheckGroup, [CheckVerb]>;
defm tokens : Valued<"tokens", "LIST", "sequence lengths to check (default: 0,1,5,64,65,200)", CheckGroup, [CheckVerb]>;

defm stop_after : Valued<"stop-after", "STAGE", "stop after this stage", StagesGroup, [BuildVerb]>;
defm start_from : Valued<"start-from", "STAGE", "the file is the .mlir file of this stage; continue from there", StagesGroup, [BuildVerb, ExplainVerb, CheckVerb]>;
defm dump_stages : Valued<"dump-stages", "DIR", "write the program of each stage to DIR", StagesGroup, [BuildVerb]>;

def json : Switch<"json", "print a JSON object, for programs, instead of text", DiagnosticsGroup, [ExplainVerb, CheckVerb, TargetsVerb, LibraryVerb]>;
defm diagnostics : Valued<"diagnostics", "FORM", "form of errors in the specification, on stderr: text (default) or json", DiagnosticsGroup, !listconcat(withSpec, [FormatVerb])>;
def help : Switch<"help", "print this help", DiagnosticsGroup, everywhere>;
def help_short : Flag<["-"], "h">, Alias<help>, Visibility<everywhere>;
def version : Switch<"version", "print the version", DiagnosticsGroup, [TopLevel]>;

defm effort : Valued<"effort", "NAME", "full (default), or quick: kernels compile in a fifth of the time and run slower", DevelopersGroup, [BuildVerb, CheckVerb, RunVerb]>;
defm provoke : Valued<"provoke", "KIND", "fail as a fault in recurc would: error, crash or (check) difference", DevelopersGroup, withSpec>;
