// What recur/_native shows to the package. Users see recur/__init__.py.
#include "Call.h"
#include "Compiler.h"
#include "Errors.h"
#include "Gather.h"
#include "JAX.h"
#include "Kernel.h"
#include "Repeats.h"
#include "Team.h"
#include "View.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace recur::python;

/// Loads the kernels for the current context; raises LoadError where the driver refuses them.
static void loadOnGPU(const Kernel &kernel) {
  if (recur_load(&kernel.getRecurrence(), RECUR_CUDA) != RECUR_OK)
    raise("LoadError", recur_message());
}

NB_MODULE(_native, module) {
  // Kernels stay as long as the process, and so do recurrences, by which operators name them.
  nb::set_leak_warnings(false);
  module.attr("abi_version") = RECUR_ABI_VERSION;
  module.attr("version") = RECUR_VERSION;
  module.def("thread_count", &recur_thread_count);
  module.def("set_thread_count", &setThreadCount, "count"_a);
  module.def("use_torchs_threads", &useTeam, "library"_a, "count_threads"_a);

  nb::class_<View>(module, "View")
      .def_ro("dtype", &View::typeName)
      .def_static("from_pointer", &View::fromPointer, "data"_a, "type"_a, "shape"_a, "strides"_a, "owner"_a,
                  "gpu"_a = -1, nb::rv_policy::take_ownership);

  nb::class_<Compiler>(module, "Compiler")
      .def(nb::init<const std::string &>(), "path"_a)
      .def("perform", &Compiler::perform, "what"_a, "source"_a, "options"_a)
      .def_prop_ro("version", &Compiler::getVersion);

  nb::class_<Kernel>(module, "Kernel")
      .def(nb::init<nb::bytes, const std::string &, const std::string &>(), "code"_a, "name"_a, "descriptor"_a)
      .def_prop_ro("arrays", &Kernel::listArrays)
      .def_prop_ro("has_gradient", &Kernel::hasGradient)
      .def_prop_ro("gradient_chunk", &Kernel::getGradientChunk)
      .def_prop_ro("handed", &Kernel::listHanded)
      .def_prop_ro("handed_values", &Kernel::describeHandedValues)
      .def_prop_ro("name", [](const Kernel &kernel) { return kernel.getRecurrence().name; })
      .def_prop_ro("target", [](const Kernel &kernel) { return kernel.getRecurrence().target; })
      .def_prop_ro("runs_here", [](const Kernel &kernel) { return recur_select(&kernel.getRecurrence()) != nullptr; })
      .def_prop_ro("is_for_cpu", [](const Kernel &kernel) { return kernel.hasDevice(RECUR_CPU); })
      .def_prop_ro("is_for_gpu", [](const Kernel &kernel) { return kernel.hasDevice(RECUR_CUDA); })
      .def_prop_ro("summaries", &Kernel::listSummaries)
      .def("load_on_gpu", &loadOnGPU);

  nb::class_<Signature>(module, "Signature")
      .def(nb::init<std::string, nb::list, nb::list, nb::list, nb::list>(), "name"_a, "dims"_a, "inputs"_a, "params"_a,
           "states"_a)
      .def("name_types", &Signature::nameTypesOf, "given"_a, "states"_a.none());

  nb::class_<Call>(module, "Call")
      .def(nb::init<const Signature &, nb::list, nb::object, nb::object, bool, nb::object, int32_t, nb::object,
                    nb::object, nb::object, nb::object, nb::object, nb::object, nb::object, nb::object, nb::object,
                    int64_t, int64_t>(),
           nb::keep_alive<1, 2>(), "signature"_a, "given"_a, "initial"_a.none(), "offsets"_a.none(),
           "states_transposed"_a, "notice"_a.none(), "gpu"_a = -1, "device_offsets"_a.none() = nb::none(),
           "finals"_a.none() = nb::none(), "state_indices"_a.none() = nb::none(), "final_indices"_a.none() = nb::none(),
           "token_indices"_a.none() = nb::none(), "accepted"_a.none() = nb::none(),
           "interval_indices"_a.none() = nb::none(), "positions"_a.none() = nb::none(), "parents"_a.none() = nb::none(),
           "interval"_a = 0, "replayed"_a = 0)
      .def_prop_ro("key", &Call::getKey)
      .def_prop_ro("heads", &Call::getHeads)
      .def("shapes", &Call::getShapes, "kernel"_a)
      .def("run", &Call::run, "kernel"_a, "outputs"_a, "finals"_a, "plan"_a = 0, "threads"_a = 0, "kept"_a = nb::list(),
           "kept_interval"_a = 0)
      .def("bind", &Call::bind, "kernel"_a, "outputs"_a, "finals"_a, nb::keep_alive<1, 2>())
      .def("repeat", &Call::repeat)
      .def("run_on_torchs_threads", &Call::runOnTorchsThreads)
      .def("check_indices", &Call::checkIndices)
      .def("count_workspace_bytes", &Call::countWorkspaceBytes, "kernel"_a, "plan"_a = 0, "kept_interval"_a = 0,
           "backward"_a = false, "hands_over"_a = false, "hands_values"_a = false)
      .def("run_on_gpu", &Call::runOnGPU, "kernel"_a, "outputs"_a, "finals"_a, "workspace"_a, "workspace_bytes"_a,
           "stream"_a, "plan"_a = 0, "kept"_a = nb::list(), "kept_interval"_a = 0, "handed"_a = nb::list())
      .def("run_backward", &Call::runBackward, "kernel"_a, "outputs"_a, "finals"_a, "gradients"_a, "initials"_a,
           "threads"_a = 0, "kept"_a = nb::list(), "kept_interval"_a = 0)
      .def("run_backward_on_gpu", &Call::runBackwardOnGPU, "kernel"_a, "outputs"_a, "finals"_a, "gradients"_a,
           "initials"_a, "workspace"_a, "workspace_bytes"_a, "stream"_a, "handed"_a = nb::list())
      .def("use_space", &Call::useSpace, "workspace"_a, "workspace_bytes"_a, "stream"_a)
      .def("count_summary_bytes", &Call::countSummaryBytes, "kernel"_a, "backward"_a)
      .def("summarise", &Call::summarise, "kernel"_a, "summary"_a, "maps"_a, "offsets"_a)
      .def("summarise_backward", &Call::summariseBackward, "kernel"_a, "summary"_a, "outputs"_a, "finals"_a,
           "maps"_a.none(), "offsets"_a)
      .def("combine_summaries", &Call::combineSummaries, "kernel"_a, "summary"_a, "backward"_a, "first"_a, "second"_a,
           "result"_a)
      .def("apply_summary", &Call::applySummary, "kernel"_a, "summary"_a, "backward"_a, "given"_a, "states"_a,
           "result"_a)
      .def("apply_summaries", &Call::applySummaries, "kernel"_a, "summary"_a, "backward"_a, "parts"_a, "result"_a);

  nb::class_<Gather>(module, "Gather")
      .def(nb::init<nb::list, nb::list>(), "sources"_a, "pieces"_a)
      .def("copy", &Gather::copy);

  nb::class_<Repeats>(module, "Repeats")
      .def(nb::init<nb::list>(), "given"_a)
      .def("call", &Repeats::call, "arrays"_a, "named"_a, "initial"_a.none(), "final"_a.none(), "out"_a.none(),
           "offsets"_a.none(), "states_transposed"_a, "indices"_a.none() = nb::none(),
           "kept_bytes"_a.none() = nb::none())
      .def("learn", &Repeats::learn, "call"_a, "kernel"_a, "given"_a, "initials"_a.none(), "wanted"_a.none(),
           "finals"_a.none(), "offsets"_a.none(), "results"_a, "states"_a, "workspace_bytes"_a,
           "indices"_a.none() = nb::none(), "training"_a.none() = nb::none());
  nb::class_<Training>(module, "Training")
      .def_prop_ro("facts", &Training::getFacts)
      .def("run", &Training::run)
      .def("derive", &Training::derive, "saved"_a, "cotangents"_a, "wanted"_a)
      .def("learn", &Training::learn, "call"_a, "kernel"_a, "saved"_a, "cotangents"_a, "wanted"_a, "gradients"_a,
           "workspace_bytes"_a, "taken"_a);
  module.def(
      "use_torch",
      [](nb::dict found) {
        setTorch({found["tensor"], found["parameter"], found["bytes"], found["empty_on_cpu"], found["empty_on_gpu"],
                  found["empty"], found["is_grad_enabled"], found["is_negative"], found["increment_version"],
                  found["modes"], found["profiler"], found["forward_ad"], found["get_device"], found["place_offsets"],
                  found["differentiate"]});
      },
      "found"_a);
  module.def("has_cuda_context", &hasCUDAContext);

  addJAX(module);
  addJAXSummaries(module);
}
