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
             HelpText<"path of what is written, without its suffix; '-' is stdout (default: the file's name, here)">;
defm emit : Valued<"emit", "LIST", "what to write: obj, lib, so, header, manifest, asm, llvm, ptx, cubin (default: obj, header, manifest), or mlir with --stop-after", FilesGroup, [BuildVerb]>;
defm depfile : Valued<"depfile", "FILE", "write FILE, for make and ninja: what is written depends on SPEC", FilesGroup, [BuildVerb]>;
defm in_folder : Valued<"in", "DIR", "folder with input.NAME.npy, param.NAME.npy and initial.NAME.npy", FilesGroup, [RunVerb]>;
defm out_folder : Valued<"out", "DIR", "folder to write output.NAME.npy and final.NAME.npy to; made where it is missing", FilesGroup, [RunVerb]>;
def format_check : Switch<"check", "change nothing; list the files that are not formatted, and exit with 2 where there are any", FilesGroup, [FormatVerb]>;

defm dim : Valued<"dim", "NAME=SIZE,...", "sizes of the dims", SpecGroup, withSpec>;
def define : JoinedOrSeparate<["-"], "D">, MetaVarName<"NAME=NUMBER">, Group<SpecGroup>, Visibility<withSpec>,
             HelpText<"give a const another number">;
defm recurrence : Valued<"recurrence", "NAME", "take this recurrence of the file only", SpecGroup, withSpec>;

defvar withTarget = withSpec;
def target : Joined<["--"], "target=">, MetaVarName<"NAME">, Group<TargetGroup>, Visibility<withTarget>,
             HelpText<"what to compile for; see 'recurc targets' (default: host); build takes NAME,NAME too, of which a program takes the best that its processor or GPU has">,
             HelpTextForVariants<[ExplainVerb, CheckVerb], "look at kernels for it too; see 'recurc targets' (default: none, only what holds for every target)">;
def target_separate : Separate<["--"], "target">, Alias<target>, Group<TargetGroup>, Visibility<withTarget>;
defm prefix : Valued<"prefix", "PREFIX", "put PREFIX before every name in the header and the object", TargetGroup, [BuildVerb]>;
def dtype : Joined<["--"], "dtype=">, MetaVarName<"TYPES">, Group<TargetGroup>, Visibility<withSpec>,
            HelpText<"types of the data: f32 (default), bf16 or f16, and others by name, states too: bf16,g=f32,S=bf16">,
            HelpTextForVariants<[RunVerb], "type of the arrays written: f64, f32, f16 or bf16 (default: the engine's), and of kernels others by name">;
def dtype_separate : Separate<["--"], "dtype">, Alias<dtype>, Group<TargetGroup>, Visibility<withSpec>;
defm engine : Valued<"engine", "NAME", "what runs it: interpreter (default), chunk, tile, host", TargetGroup, [RunVerb]>;

def backward : Switch<"backward", "of the gradient: make its kernels too, check it, run it or explain it", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb, RunVerb]>;
def backward_of : Joined<["--"], "backward=">, MetaVarName<"LIST">, Group<PlanGroup>, Visibility<[BuildVerb, ExplainVerb, CheckVerb, RunVerb]>,
                  HelpText<"as --backward, of these inputs, params and initial states alone: what only others need is not computed">;
def summaries : Switch<"summaries", "of parts of sequences, for several GPUs: make their kernels too, as processors have them", PlanGroup, [BuildVerb]>;
defm plan : Valued<"plan", "NAME", "auto (default), step, chunk, segment, scan or token-loop", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb, RunVerb]>;
defm chunk : Valued<"chunk", "N", "tokens in a chunk: 16, 32, 64 or 128 (default: by the target)", PlanGroup, [BuildVerb, ExplainVerb, CheckVerb]>;

defm seed : Valued<"seed", "N", "start of the random numbers (default: 0)", CheckGroup, [CheckVerb]>;
def hard : Switch<"hard", "draw decays down to e^-20 a token, gains to 2 and keys that are much alike", CheckGroup, [CheckVerb]>;
defm stages : Valued<"stages", "LIST", "compare these alone, by their names in the table (default: all)", CheckGroup, [CheckVerb]>;
defm tokens : Valued<"tokens", "LIST", "sequence lengths to check (default: 0,1,5,64,65,200)", CheckGroup, [CheckVerb]>;

defm stop_after : Valued<"stop-after", "STAGE", "go down to this stage and no further", StagesGroup, [BuildVerb]>;
defm start_from : Valued<"start-from", "STAGE", "the file is .mlir that this stage gave; go on from there", StagesGroup, [BuildVerb, ExplainVerb, CheckVerb]>;
defm dump_stages : Valued<"dump-stages", "DIR", "write what each stage gives to DIR", StagesGroup, [BuildVerb]>;

def json : Switch<"json", "print an object for a program instead of text for a person", DiagnosticsGroup, [ExplainVerb, CheckVerb, TargetsVerb, LibraryVerb]>;
defm diagnostics : Valued<"diagnostics", "FORM", "errors in the specification as text (default) or json, on stderr", DiagnosticsGroup, !listconcat(withSpec, [FormatVerb])>;
def help : Switch<"help", "print this", DiagnosticsGroup, everywhere>;
def help_short : Flag<["-"], "h">, Alias<help>, Visibility<everywhere>;
def version : Switch<"version", "print the version", DiagnosticsGroup, [TopLevel]>;

defm effort : Valued<"effort", "NAME", "full (default), or quick: kernels compile in a fifth of the time and run slower", DevelopersGroup, [BuildVerb, CheckVerb, RunVerb]>;
defm provoke : Valued<"provoke", "KIND", "fail as if by a fault in recurc: error, crash or (check) difference", DevelopersGroup, withSpec>;
