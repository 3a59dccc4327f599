// GoogleTest as well, for the unit tests.
#pragma once
#include "cmake/precompiledDialects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
