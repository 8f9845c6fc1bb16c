/// Reads one member of an object without parsing the others.
public enum JSONMember {
    /// The value of the member `name`, if it is a string or number; nil otherwise, or if the text is not an object.
    public static func scalar(_ name: String, of json: String) -> String? {
        var json = json
        return json.withUTF8 { scalar([name], of: $0) }
    }

    /// The value of the first of `names` that the object contains, if it is a string or number. Nil otherwise, or if
    /// the text is not an object.
    ///
    /// Does not recognize member names that are written with escapes.
    public static func scalar(_ names: [String], of bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var cursor = JSONCursor(bytes)
        var found: (rank: Int, value: Range<Int>)?
        cursor.skipBlanks()
        // Reading stops at an error; members found before it count.
        try? cursor.walkObject(depth: 0) { cursor, key throws(JSONError) in
            let start = cursor.position
            try cursor.skipValue(depth: 1)
            let name = UnsafeBufferPointer(rebasing: bytes[key])
            guard let rank = names.firstIndex(where: { name.elementsEqual($0.utf8) }), rank < found?.rank ?? .max else {
                return
            }
            found = (rank, start..<cursor.position)
            // No other name can take precedence. The error only ends the walk.
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
