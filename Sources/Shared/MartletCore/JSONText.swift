/// Checks and takes apart the outermost level of JSON text, leaving what is inside as bytes.
public enum JSONText {
    public struct Member: Sendable, Equatable {
        public let name: String
        /// Where the value's text stands, in bytes.
        public let value: Range<Int>

        public init(name: String, value: Range<Int>) {
            self.name = name
            self.value = value
        }
    }

    /// Checks that the text is one JSON value, for bytes that something else decodes.
    public static func validate(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(bytes)
        try cursor.skipValue(depth: 0)
        try cursor.finish()
    }

    /// The members of an object, in order; the whole text is checked.
    ///
    /// - Throws: `JSONError`, also when the text is not an object.
    public static func members(of bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> [Member] {
        var cursor = JSONCursor(bytes)
        cursor.skipBlanks()
        let members = try members(&cursor, depth: 0)
        try cursor.finish()
        return members
    }

    /// Calls `element` with the members of each object in an array, and where it stands.
    ///
    /// - Throws: `JSONError`, also when the text is not an array of objects or has more than `maximum`.
    public static func forEachElement(
        of bytes: UnsafeBufferPointer<UInt8>, maximum: Int = .max, _ element: ([Member], Range<Int>) -> Void
    ) throws(JSONError) {
        var cursor = JSONCursor(bytes)
        var count = 0
        cursor.skipBlanks()
        try cursor.walkArray(depth: 0) { cursor throws(JSONError) in
            count += 1
            guard count <= maximum else { throw cursor.failure(.tooMany) }
            let start = cursor.position
            element(try members(&cursor, depth: 1), start..<cursor.position)
        }
        try cursor.finish()
    }

    /// Where each value of an array stands, in bytes, whatever it is; the whole text is checked.
    ///
    /// - Throws: `JSONError`, also when the text is not an array or has more than `maximum`.
    public static func values(of bytes: UnsafeBufferPointer<UInt8>, maximum: Int) throws(JSONError) -> [Range<Int>] {
        var cursor = JSONCursor(bytes)
        var values: [Range<Int>] = []
        cursor.skipBlanks()
        try cursor.walkArray(depth: 0) { cursor throws(JSONError) in
            guard values.count < maximum else { throw cursor.failure(.tooMany) }
            let start = cursor.position
            try cursor.skipValue(depth: 1)
            values.append(start..<cursor.position)
        }
        try cursor.finish()
        return values
    }

    private static func members(_ cursor: inout JSONCursor, depth: Int) throws(JSONError) -> [Member] {
        var members: [Member] = []
        try cursor.walkObject(depth: depth) { cursor, key throws(JSONError) in
            guard members.count < JSONLimits.maximumMembers else { throw cursor.failure(.tooMany) }
            let start = cursor.position
            try cursor.skipValue(depth: depth + 1)
            members.append(Member(name: cursor.text(key), value: start..<cursor.position))
        }
        return members
    }
}
