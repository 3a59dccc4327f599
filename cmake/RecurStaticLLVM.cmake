# RecurStaticLLVM: LLVM, MLIR and what they need as static libraries, for what runs where none of them is installed. Only
# what is called is linked, so that all archives can be offered: sizes are in docs/design/python.md. It takes lld, which
# finds a function in any archive whatever their order.
file(GLOB archives ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
find_library(RECUR_STATIC_Z libz.a)
add_library(RecurStaticParts OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/staticParts.cpp)
target_link_libraries(RecurStaticParts PRIVATE RecurFlags)
target_compile_options(RecurStaticParts PRIVATE -fvisibility=hidden)
add_library(RecurStaticLLVM INTERFACE)
target_link_libraries(RecurStaticLLVM INTERFACE $<TARGET_OBJECTS:RecurStaticParts> ${RECUR_STATIC_Z} ${archives})
target_link_options(RecurStaticLLVM INTERFACE -fuse-ld=lld -static-libstdc++ -static-libgcc
                    -Wl,--gc-sections,--as-needed,-O2,-s,-z,defs)
