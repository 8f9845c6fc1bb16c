/// The member names of all objects that a `JSONCursor` is in, to detect duplicates.
///
/// Names are compared by their bytes after resolving escapes, not by Swift's string equality: U+212A is not K.
struct MemberNames {
    private struct Name {
        let range: Range<Int>
        let isEscaped: Bool
    }

    /// Objects with up to this many members are compared pairwise; larger ones are sorted.
    private static let maximumPairs = 12

    private let isIgnored: Bool
    /// Names of the outermost object first, followed by those of the inner ones.
    private var names: [Name] = []
    private var start = 0

    init(isIgnored: Bool) {
        self.isIgnored = isIgnored
    }

    /// The number of names in all objects that have not ended yet.
    var count: Int { names.count }

    /// Begins an object. Pass the result to `end`.
    mutating func begin() -> Int {
        defer { start = names.count }
        return start
    }

    mutating func append(_ range: Range<Int>, isEscaped: Bool) {
        if !isIgnored { names.append(Name(range: range, isEscaped: isEscaped)) }
    }

    /// Ends an object; returns the offset of its first duplicate name, if any.
    mutating func end(_ outer: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        defer {
            names.removeSubrange(start...)
            start = outer
        }
        let count = names.count - start
        guard count > 1 else { return nil }
        // Resolve escapes once per name instead of at each comparison, because a name may be as long as the text.
        if names[start...].contains(where: \.isEscaped) { return resolved(in: bytes) }
        return count <= Self.maximumPairs ? compared(in: bytes) : sorted(in: bytes)
    }

    private func compared(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for index in start + 1..<names.count {
            for earlier in start..<index where order(names[earlier], names[index], bytes) == 0 {
                return names[index].range.lowerBound
            }
        }
        return nil
    }

    private func resolved(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var seen = Set<[UInt8]>()
        return names[start...].first { !seen.insert(Array(bytes.text($0.range).utf8)).inserted }?.range.lowerBound
    }

    private func sorted(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let sorted = names[start...].sorted { order($0, $1, bytes) < 0 }
        return zip(sorted, sorted.dropFirst()).filter { order($0, $1, bytes) == 0 }
            .map { max($0.range.lowerBound, $1.range.lowerBound) }.min()
    }

    /// Orders names without escapes.
    private func order(_ left: Name, _ right: Name, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard left.range.count == right.range.count else { return left.range.count < right.range.count ? -1 : 1 }
        let (first, second) = (left.range.lowerBound, right.range.lowerBound)
        for offset in 0..<left.range.count where bytes[first + offset] != bytes[second + offset] {
            return bytes[first + offset] < bytes[second + offset] ? -1 : 1
        }
        return 0
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The offset of the first invalid UTF-8 sequence; nil if all bytes are valid.
    var firstIndexOfInvalidUTF8: Int? {
        guard String(validating: self, as: UTF8.self) == nil else { return nil }
        var decoder = UTF8()
        var bytes = makeIterator()
        var offset = 0
        while true {
            switch decoder.decode(&bytes) {
            case .scalarValue(let scalar): offset += UTF8.width(scalar)
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}
