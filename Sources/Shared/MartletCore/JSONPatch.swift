/// The difference between two JSON values (JSON Patch, RFC 6902), using only `add`, `remove` and `replace`.
///
/// Numbers are compared by their digits, so 1 and 1.0 differ. In arrays, the common beginning and end remain untouched.
public struct JSONPatch: Sendable, Equatable {
    public enum Operation: Sendable, Equatable {
        case add(path: String, JSONValue)
        case remove(path: String)
        case replace(path: String, JSONValue)
    }

    public private(set) var operations: [Operation] = []

    public init(from old: JSONValue, to new: JSONValue) {
        compare(old, new, "")
    }

    /// The patch in the format of RFC 6902 §3: an array of objects.
    public var json: JSONValue {
        .array(
            operations.map { operation in
                func object(_ name: String, _ path: String, _ value: JSONValue? = nil) -> JSONValue {
                    let value = value.map { [JSONValue.Member("value", $0)] } ?? []
                    return .object([.init("op", .string(name)), .init("path", .string(path))] + value)
                }
                return switch operation {
                case .add(let path, let value): object("add", path, value)
                case .remove(let path): object("remove", path)
                case .replace(let path, let value): object("replace", path, value)
                }
            })
    }

    private mutating func compare(_ old: JSONValue, _ new: JSONValue, _ path: String) {
        switch (old, new) {
        case (.object(let old), .object(let new)): compare(old, new, path)
        case (.array(let old), .array(let new)): compare(old, new, path)
        default: if old != new { operations.append(.replace(path: path, new)) }
        }
    }

    private mutating func compare(_ old: [JSONValue.Member], _ new: [JSONValue.Member], _ path: String) {
        let before = Dictionary(old.map { (ExactText($0.name), $0.value) }, uniquingKeysWith: { $1 })
        let after = Set(new.map { ExactText($0.name) })
        for member in old where !after.contains(ExactText(member.name)) {
            operations.append(.remove(path: path + "/" + JSONPointer.escape(member.name)))
        }
        for member in new {
            let path = path + "/" + JSONPointer.escape(member.name)
            if let value = before[ExactText(member.name)] {
                compare(value, member.value, path)
            } else {
                operations.append(.add(path: path, member.value))
            }
        }
    }

    private mutating func compare(_ old: [JSONValue], _ new: [JSONValue], _ path: String) {
        let shorter = min(old.count, new.count)
        let start = zip(old, new).countPrefix(shorter) { $0 == $1 }
        let end = zip(old.reversed(), new.reversed()).countPrefix(shorter - start) { $0 == $1 }
        let (oldEnd, newEnd) = (old.count - end, new.count - end)
        for index in start..<min(oldEnd, newEnd) { compare(old[index], new[index], "\(path)/\(index)") }
        // From the end, so that earlier indexes remain valid.
        for index in stride(from: oldEnd - 1, through: newEnd, by: -1) {
            operations.append(.remove(path: "\(path)/\(index)"))
        }
        for index in stride(from: oldEnd, to: newEnd, by: 1) {
            operations.append(.add(path: "\(path)/\(index)", new[index]))
        }
    }
}

extension Sequence {
    /// The number of leading elements, up to `limit`, that satisfy `isSame`.
    fileprivate func countPrefix(_ limit: Int, _ isSame: (Element) -> Bool) -> Int {
        var count = 0
        for element in self {
            guard count < limit, isSame(element) else { break }
            count += 1
        }
        return count
    }
}
