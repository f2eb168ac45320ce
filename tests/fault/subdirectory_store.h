// SPDX-License-Identifier: Apache-2.0
// A Store that is a folder of another Store, so that several directories can lie on one recorded
// disk. Local.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "write/store.h"

namespace stratalog::sample {

class SubdirectoryStore : public Store {
 public:
  SubdirectoryStore(std::shared_ptr<Store> inner, std::string folder)
      : inner_(std::move(inner)), folder_(std::move(folder)) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    return inner_->open(below(path), mode);
  }
  Status make_directory(const std::string& path) override {
    return inner_->make_directory(below(path));
  }
  Status remove_file(const std::string& path) override { return inner_->remove_file(below(path)); }
  Status remove_directory(const std::string& path) override {
    return inner_->remove_directory(below(path));
  }
  Status rename(const std::string& from, const std::string& to) override {
    return inner_->rename(below(from), below(to));
  }
  Status sync_directory(const std::string& path) override {
    return inner_->sync_directory(below(path));
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return inner_->list(below(path));
  }
  Result<FileInfo> info(const std::string& path) override { return inner_->info(below(path)); }
  Result<std::uint64_t> free_bytes() override { return inner_->free_bytes(); }
  Result<FileSystemFacts> file_system() override { return inner_->file_system(); }
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override {
    return inner_->stripe_new_files(below(path), striping);
  }
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override {
    return inner_->lock(below(path));
  }
  Status random_bytes(std::span<std::byte> bytes) override { return inner_->random_bytes(bytes); }
  std::string root() const override { return inner_->root() + "/" + folder_; }

 private:
  std::string below(const std::string& path) const {
    return path == "." ? folder_ : folder_ + "/" + path;
  }

  std::shared_ptr<Store> inner_;
  std::string folder_;
};

}  // namespace stratalog::sample
