/// Validates JSON text and splits its outermost level, leaving inner values as bytes.
public enum JSONText {
    public struct Member: Sendable, Equatable {
        public let name: String
        /// The byte range of the value's text.
        public let value: Range<Int>

        public init(name: String, value: Range<Int>) {
            self.name = name
            self.value = value
        }
    }

    /// Validates that the text is one JSON value, for bytes that are decoded elsewhere.
    public static func validate(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var cursor = JSONCursor(bytes)
        try cursor.skipValue(depth: 0)
        try cursor.finish()
    }

    /// The members of an object, in order. Validates the whole text.
    ///
    /// - Throws: `JSONError`, also if the text is not an object.
    public static func members(of bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> [Member] {
        var cursor = JSONCursor(bytes)
        cursor.skipBlanks()
        let members = try members(&cursor, depth: 0)
        try cursor.finish()
        return members
    }

    /// Calls `element` with the members and the byte range of each object in an array.
    ///
    /// - Throws: `JSONError`, also if the text is not an array of objects or has more than `maximum` elements.
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

    /// The byte range of each value in an array. Validates the whole text.
    ///
    /// - Throws: `JSONError`, also if the text is not an array or has more than `maximum` elements.
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
