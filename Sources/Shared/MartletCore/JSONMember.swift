/// Looks up a member of an object without reading what is in the others.
public enum JSONMember {
    /// Of a text.
    public static func scalar(_ name: String, of json: String) -> String? {
        var json = json
        return json.withUTF8 { scalar([name], of: $0) }
    }

    /// The string or number that the object has under the first of `names` that it has; nil for none, and for what is no object.
    ///
    /// Names of members that are written with escapes are not recognised.
    public static func scalar(_ names: [String], of bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var cursor = JSONCursor(bytes)
        var found: (rank: Int, value: Range<Int>)?
        cursor.skipBlanks()
        // Nothing behind an error is read; what was found before it counts.
        try? cursor.walkObject(depth: 0) { cursor, key throws(JSONError) in
            let start = cursor.position
            try cursor.skipValue(depth: 1)
            let name = UnsafeBufferPointer(rebasing: bytes[key])
            guard let rank = names.firstIndex(where: { name.elementsEqual($0.utf8) }), rank < found?.rank ?? .max else { return }
            found = (rank, start..<cursor.position)
            // Nothing can come before it.
            if rank == 0 { throw cursor.failure(.tooMany) }
        }
        guard let found, let value = try? JSONValue(parsing: bytes[found.value]) else { return nil }
        switch value {
        case .string(let text): return text
        case .number(let digits): return digits
        default: return nil
        }
    }
}
