#include <memarray/base/struct_fields.hpp>

#include "shortened.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <memory>
#include <string>
#include <system_error>

#include <memarray/base/errors.hpp>

namespace memarray {
namespace {

/// Returns the PEP 3118 code in standard sizes.
std::string format_of(std::string_view typestr) {
  std::uint32_t const size = field_itemsize(typestr);
  switch (typestr[1]) {
    case 'b': return "?";
    case 'i': return size == 1 ? "b" : size == 2 ? "h" : size == 4 ? "i" : "q";
    case 'u': return size == 1 ? "B" : size == 2 ? "H" : size == 4 ? "I" : "Q";
    case 'f': return size == 2 ? "e" : size == 4 ? "f" : "d";
    case 'c': return size == 8 ? "Zf" : "Zd";
    case 'S': return std::to_string(size) + "s";
    default: return std::to_string(size) + "x";
  }
}

std::string padding(std::uint32_t bytes) { return bytes == 0 ? std::string() : std::to_string(bytes) + "x"; }

std::uint64_t size_of(StructField const& field) {
  std::uint64_t size = field.nested ? field.nested->itemsize : field_itemsize(field.typestr);
  for (std::uint32_t const extent : field.extents) {
    if (__builtin_mul_overflow(size, extent, &size)) throw ValueError("field " + field.name + " is too large");
  }
  return size;
}

std::string struct_format(std::uint32_t itemsize, std::span<StructField const> fields) {
  std::string text = "T{";
  std::uint32_t end = 0;
  for (StructField const& field : fields) {
    text += padding(field.offset - end);
    char before = '(';
    for (std::uint32_t const extent : field.extents) {
      text.push_back(before);
      text.append(std::to_string(extent));
      before = ',';
    }
    if (!field.extents.empty()) text.push_back(')');
    // '=': no alignment beyond the explicit padding.
    if (!field.nested) text.push_back('=');
    text.append(field.nested ? field.nested->format : format_of(field.typestr));
    text.append(1, ':').append(field.name).append(1, ':');
    end = field.offset + field.nbytes();
  }
  return text + padding(itemsize - end) + "}";
}

void check(std::uint32_t itemsize, std::span<StructField const> fields) {
  if (fields.empty()) throw ValueError("a struct dtype has one field or more");
  std::uint64_t end = 0;
  for (StructField const& field : fields) {
    if (field.name.empty() || field.name.find(':') != std::string::npos || field.name.find('\0') != std::string::npos)
      throw ValueError("a field needs a name without ':', not '" + field.name + "'");
    if (std::ranges::count(fields, field.name, &StructField::name) != 1)
      throw ValueError("two fields have the name " + field.name);
    if (!field.nested && field_itemsize(field.typestr) == 0)
      throw ValueError("field " + field.name + " is of '" + field.typestr +
                       "': expected a bool, a number, text of bytes (S) or plain bytes (V), in native byte order");
    if (field.offset < end) throw ValueError("field " + field.name + " overlaps the one before it");
    end = field.offset + size_of(field);
    if (end > itemsize) throw ValueError("field " + field.name + " reaches past the end of the struct");
  }
}

DType foreign_dtype(StructFields const& fields, std::uint32_t alignment) {
  DType result;
  std::string name = "struct{";
  for (StructField const& field : fields.list) name += (name.back() == '{' ? "" : ", ") + field.name;
  name = detail::shortened(name, sizeof(result.name) - 2) + "}";
  detail::assign_text(result.name, name);
  detail::assign_text(result.typestr, "|V");
  detail::append_number(result.typestr + 2, fields.itemsize);
  result.dl = DLDataType{kDLOpaqueHandle, 0, 0};
  result.itemsize = fields.itemsize;
  result.alignment = alignment;
  result.fields = &fields;
  return result;
}

/// A known layout. The list is lock-free for forked children; nodes are never removed, as dtypes point into them.
struct Node {
  StructFields fields{};
  Node const* older = nullptr;
};
constinit std::atomic<Node const*> newest{nullptr};

}  // namespace

std::uint32_t StructField::nbytes() const noexcept {
  std::uint32_t bytes = nested ? nested->itemsize : field_itemsize(typestr);
  for (std::uint32_t const extent : extents) bytes *= extent;
  return bytes;
}

std::uint32_t field_itemsize(std::string_view typestr) noexcept {
  if (typestr.size() < 3) return 0;
  std::uint32_t size = 0;
  char const* const end = typestr.data() + typestr.size();
  auto const [stop, error] = std::from_chars(typestr.data() + 2, end, size);
  if (error != std::errc() || stop != end) return 0;
  char const order = typestr[0];
  if (order != '|' && order != '=' && (order != '<' || std::endian::native != std::endian::little)) return 0;
  switch (typestr[1]) {
    case 'b': return size == 1 ? size : 0;
    case 'i':
    case 'u': return size <= 8 && std::has_single_bit(size) ? size : 0;
    case 'f': return size == 2 || size == 4 || size == 8 ? size : 0;
    case 'c': return size == 8 || size == 16 ? size : 0;
    case 'S':
    case 'V': return size;
    default: return 0;
  }
}

StructFields const* intern_struct(std::uint32_t itemsize, std::uint32_t alignment,
                                  std::span<StructField const> fields) {
  check(itemsize, fields);
  if (!std::has_single_bit(alignment) || alignment > 64)
    throw ValueError("an alignment is a power of two up to 64, not " + std::to_string(alignment));
  auto node = std::make_unique<Node>();
  node->fields.itemsize = itemsize;
  node->fields.list.assign(fields.begin(), fields.end());
  node->fields.format = struct_format(itemsize, fields);
  node->fields.dtype = foreign_dtype(node->fields, alignment);
  Node const* seen = nullptr;
  for (;;) {
    Node const* const head = newest.load(std::memory_order_acquire);
    for (Node const* one = head; one != seen; one = one->older)
      if (one->fields.itemsize == itemsize && std::ranges::equal(one->fields.list, fields)) return &one->fields;
    seen = head;
    node->older = head;
    Node const* expected = head;
    if (newest.compare_exchange_strong(expected, node.get(), std::memory_order_acq_rel)) return &node.release()->fields;
  }
}

namespace detail {

StructFields const* intern_fields(std::span<FieldSpec const> fields, std::size_t itemsize, std::size_t alignment) {
  std::vector<StructField> list;
  for (FieldSpec const& spec : fields) {
    StructField& field = list.emplace_back();
    field.name = spec.name;
    field.offset = static_cast<std::uint32_t>(spec.offset);
    field.extents.assign(spec.extents.begin(), spec.extents.begin() + spec.rank);
    if (spec.nested) {
      field.nested = spec.nested();
    } else {
      bool const has_order = spec.itemsize > 1 && spec.kind != 'S' && spec.kind != 'V';
      field.typestr.append(has_order ? "<" : "|").append(1, spec.kind).append(std::to_string(spec.itemsize));
    }
  }
  return intern_struct(static_cast<std::uint32_t>(itemsize), static_cast<std::uint32_t>(alignment), list);
}

}  // namespace detail
}  // namespace memarray
