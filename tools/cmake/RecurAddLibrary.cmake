# recur_add_library(NAME SPEC file.recur
#                   [TARGETS host|x86-64|x86-64-v3|x86-64-v4|x86-64-v4-amx|aarch64|aarch64-bf16|sm_80+|sm_80|sm_86|sm_89|sm_90|sm_90a|sm_100|sm_103|sm_120|sm_121 ...] [DIMS K=128 V=128 ...] [DEFINES x=1.25 ...] [DTYPE f32|bf16|f16[,NAME=TYPE...]]
#                   [CHUNK n] [PLAN auto|step|chunk] [RECURRENCE name] [PREFIX prefix] [BACKWARD] [GRADIENTS q k ...]
#                   [SUMMARIES] [TREES])
# compiles the recurrences of a specification into a static library NAME. What links NAME can include "NAME.h", and is
# linked with Recur::runtime too. An edit of the specification, or another recurc, rebuilds it. NAME_MANIFEST is set to the
# path of the manifest. Of several TARGETS the program takes, when it runs, the best that the processor can run. None stand
# for `host`, or where CMake makes programs for Arm processors on another machine, for `aarch64`.
# BACKWARD adds the kernels of the gradients; GRADIENTS, which implies it, those of these inputs, params and states alone.
# For GPUs SUMMARIES adds the kernels of sequences' parts, and TREES those for tokens that are tried as trees.
function(recur_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "BACKWARD;SUMMARIES;TREES" "SPEC;DTYPE;CHUNK;PLAN;RECURRENCE;PREFIX" "TARGETS;DIMS;DEFINES;GRADIENTS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "recur_add_library(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "recur_add_library(${name}): nothing follows ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_SPEC)
    message(FATAL_ERROR "recur_add_library(${name}): SPEC is missing: name the .recur file")
  endif()
  get_filename_component(spec "${ARG_SPEC}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${spec}")
    message(FATAL_ERROR "recur_add_library(${name}): there is no file ${spec}")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS host)
    if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      set(ARG_TARGETS aarch64)
    endif()
  endif()
  list(JOIN ARG_TARGETS "," targets)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set(language C)
  elseif("CXX" IN_LIST languages)
    set(language CXX)
  else()
    message(FATAL_ERROR "recur_add_library(${name}): enable C or CXX, by project(... LANGUAGES C)")
  endif()

  set(options --target=${targets})
  if(ARG_DIMS)
    string(REPLACE ";" "," dims "${ARG_DIMS}")
    list(APPEND options --dim=${dims})
  endif()
  foreach(define IN LISTS ARG_DEFINES)
    list(APPEND options -D${define})
  endforeach()
  foreach(option DTYPE CHUNK PLAN RECURRENCE PREFIX)
    if(DEFINED ARG_${option})
      string(TOLOWER ${option} lower)
      list(APPEND options --${lower}=${ARG_${option}})
    endif()
  endforeach()

  if(ARG_GRADIENTS)
    list(JOIN ARG_GRADIENTS "," gradients)
    list(APPEND options --backward=${gradients})
  elseif(ARG_BACKWARD)
    list(APPEND options --backward)
  endif()
  foreach(option SUMMARIES TREES)
    if(ARG_${option})
      string(TOLOWER ${option} lower)
      list(APPEND options --${lower})
    endif()
  endforeach()

  # A folder of its own, which is all that the library adds to the include path.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.recur")
  set(base "${folder}/${name}")
  add_custom_command(
    OUTPUT "${base}.o" "${base}.h" "${base}.json"
    COMMAND Recur::recurc build "${spec}" ${options} --emit=obj,header,manifest -o "${base}" --depfile "${base}.d"
    DEPENDS "${spec}" Recur::recurc
    DEPFILE "${base}.d"
    COMMENT "Compiling recurrences of ${ARG_SPEC}"
    VERBATIM)
  add_library(${name} STATIC "${base}.o" "${base}.h")
  set_source_files_properties("${base}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE ${language})
  target_include_directories(${name} INTERFACE "${folder}")
  target_link_libraries(${name} INTERFACE Recur::runtime)
  set(${name}_MANIFEST "${base}.json" PARENT_SCOPE)
endfunction()
