#include "Data/ArrayFolder.h"
#include "Support/Errors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace llvm;
using namespace recur;
using namespace recur::data;
using data::Role;

std::string ArrayDeclaration::getFileName() const {
  return (getWord(role) + (sharesName ? ".final." : ".") + name + ".npy").str();
}

std::string ArrayDeclaration::getGradientFileName() const {
  return (role == Role::Initial ? "gradient.initial." : "gradient.") + name + ".npy";
}

static bool isCotangent(Role role) { return role == Role::OutputCotangent || role == Role::FinalCotangent; }
static bool isRead(Role role) { return role != Role::Output && role != Role::Final && !isCotangent(role); }

static Error makeExtraFileError(StringRef path, StringRef fileName, ArrayRef<ArrayDeclaration> declarations) {
  std::vector<std::string> known;
  for (const ArrayDeclaration &declaration : declarations)
    known.push_back(declaration.getFileName());
  std::vector<StringRef> candidates(known.begin(), known.end());
  StringRef nearest = findNearest(fileName, candidates);
  // The right name after the wrong word, such as state.S.npy.
  StringRef name = fileName.split('.').second;
  for (const ArrayDeclaration &declaration : declarations)
    if (nearest.empty() && isRead(declaration.role) && name == declaration.name + ".npy")
      nearest = candidates[&declaration - declarations.begin()];
  if (!nearest.empty())
    return makeError(path + ": it belongs to no declaration; should it be '" + nearest + "'?");
  return makeError(path + ": it belongs to no declaration; take it out of the folder");
}

Expected<std::vector<ArrayFile>> data::openFolder(StringRef folder, ArrayRef<ArrayDeclaration> declarations,
                                                  bool wantsCotangents, bool othersToo) {
  if (!sys::fs::is_directory(folder))
    return makeError("cannot read folder '" + folder +
                     "': " + (sys::fs::exists(folder) ? "it is a file" : "it does not exist"));
  std::error_code code;
  std::set<std::string> present; // in order, so that messages do not depend on the file system
  for (sys::fs::directory_iterator entry(folder, code), end; entry != end && !code; entry.increment(code))
    if (sys::path::extension(entry->path()) == ".npy")
      present.insert(sys::path::filename(entry->path()).str());
  if (code)
    return makeError("cannot read folder '" + folder + "': " + code.message());

  auto getPath = [&](StringRef fileName) {
    SmallString<128> path(folder);
    sys::path::append(path, fileName);
    return path.str().str();
  };
  for (const std::string &fileName : present)
    if (!othersToo && none_of(declarations, [&](const ArrayDeclaration &declaration) {
          return declaration.getFileName() == fileName ||
                 (isRead(declaration.role) && declaration.getGradientFileName() == fileName);
        }))
      return makeExtraFileError(getPath(fileName), fileName, declarations);

  std::vector<ArrayFile> files;
  for (const ArrayDeclaration &declaration : declarations) {
    if (!isRead(declaration.role) && !(wantsCotangents && isCotangent(declaration.role)))
      continue;
    std::string fileName = declaration.getFileName(), path = getPath(fileName);
    if (!present.count(fileName)) {
      if (declaration.role == Role::Initial || isCotangent(declaration.role))
        continue; // it is zero
      return makeError(path + ": the file is missing; " + getWord(declaration.role) + " '" + declaration.name +
                       "' is read from it");
    }
    Expected<npy::Header> header = npy::readHeader(path);
    if (!header)
      return header.takeError();
    files.push_back({declaration.role, declaration.name, path, header->shape});
  }
  return files;
}

Expected<data::Data> data::readArrays(ArrayRef<ArrayFile> files, const data::Sizes &sizes) {
  data::Data data;
  data.sizes = sizes;
  for (const ArrayFile &file : files) {
    if (isCotangent(file.role))
      continue;
    Expected<Array> array = npy::read(file.path);
    if (!array)
      return array.takeError();
    data::NamedArrays &arrays = file.role == Role::Param     ? data.params
                                : file.role == Role::Initial ? data.initial
                                                             : data.inputs;
    arrays[file.name] = std::move(*array);
  }
  return data;
}

Expected<data::Results> data::readCotangents(ArrayRef<ArrayFile> files) {
  data::Results cotangents;
  for (const ArrayFile &file : files) {
    if (!isCotangent(file.role))
      continue;
    Expected<Array> array = npy::read(file.path);
    if (!array)
      return array.takeError();
    (file.role == Role::OutputCotangent ? cotangents.outputs : cotangents.final)[file.name] = std::move(*array);
  }
  return cotangents;
}

std::vector<OutputFile> data::printGradient(StringRef folder, const data::Data &gradient, const DataTypes &types) {
  std::vector<OutputFile> files;
  auto add = [&](Role role, const data::NamedArrays &arrays) {
    for (const auto &[name, array] : arrays) {
      SmallString<128> path(folder);
      sys::path::append(path, ArrayDeclaration{role, name}.getGradientFileName());
      files.push_back({path.str().str(), npy::print(array, types.of(name))});
    }
  };
  add(Role::Input, gradient.inputs);
  add(Role::Param, gradient.params);
  add(Role::Initial, gradient.initial);
  return files;
}

std::vector<OutputFile> data::printResults(StringRef folder, const data::Results &results, const DataTypes &types) {
  std::vector<OutputFile> files;
  auto add = [&](Role role, const data::NamedArrays &arrays) {
    for (const auto &[name, array] : arrays) {
      SmallString<128> path(folder);
      sys::path::append(path, ArrayDeclaration{role, name}.getFileName());
      files.push_back({path.str().str(), npy::print(array, types.of(name))});
    }
  };
  add(Role::Output, results.outputs);
  add(Role::Final, results.final);
  return files;
}
