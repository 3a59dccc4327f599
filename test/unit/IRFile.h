// The programs and kernels of a test, in a file beside it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace recur::test {

/// A file of ops with names, read once for all that a test asks of it.
template <typename... Dialects> class IRFile {
public:
  /// `path` is below test/unit.
  explicit IRFile(const std::string &path) {
    context.loadDialect<Dialects...>();
    module = mlir::parseSourceFile<mlir::ModuleOp>(RECUR_SOURCE_DIR "/test/unit/" + path, &context);
    EXPECT_TRUE(module) << path << " cannot be read";
  }

  /// Fails, and gives none, where there is no such op.
  template <typename Op> Op find(llvm::StringRef name) const {
    Op found = module ? mlir::ModuleOp(module.get()).template lookupSymbol<Op>(name) : Op();
    EXPECT_TRUE(found) << "there is no '" << name.str() << "'";
    return found;
  }

  template <typename Op> std::vector<std::string> listNames() const {
    std::vector<std::string> names;
    if (module)
      for (Op op : mlir::ModuleOp(module.get()).template getOps<Op>())
        names.push_back(op.getSymName().str());
    return names;
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace recur::test
