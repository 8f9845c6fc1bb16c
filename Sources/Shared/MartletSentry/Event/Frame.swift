import MartletCore

/// A call on a stack.
public struct Frame: Sendable, Equatable {
    /// Maximum bytes of a name, a path and a line of source; the rest is ignored.
    private static let (maximumNameLength, maximumPathLength, maximumSourceLength) = (
        FunctionName.maximumLength, 4_096, 1_000
    )

    public var function: String
    public var module: String
    public var filename: String
    /// The path of the image that contains the call.
    public var package: String
    public var line: Int?
    /// The source line, as reported by the client.
    public var source: String
    public var instruction: UInt64?
    public var image: UInt64?
    /// As reported by the client, or else derived from the image's path; nil if unknown.
    public var isInApp: Bool?

    init(_ value: JSONValue) {
        func text(_ name: String, _ limit: Int = Self.maximumPathLength) -> String {
            (value[name]?.looseText ?? "").cut(toBytes: limit)
        }
        function = text("function", Self.maximumNameLength)
        module = text("module", Self.maximumNameLength)
        filename = text("filename").isEmpty ? text("abs_path") : text("filename")
        package = text("package")
        line = value["lineno"]?.looseNumber.flatMap { Int(exactly: $0) }
        source = text("context_line", Self.maximumSourceLength)
        instruction = Self.address(value["instruction_addr"])
        image = Self.address(value["image_addr"])
        isInApp = value["in_app"]?.looseFlag ?? Self.isInApp(package: package)
    }

    /// Whether the code comes from a compiled image rather than from source visible to the client.
    public var isNative: Bool { instruction != nil || !package.isEmpty && source.isEmpty && line == nil }

    /// Parses `0x…` or a decimal number.
    static func address(_ value: JSONValue?) -> UInt64? {
        guard let text = value?.looseText else { return nil }
        return text.hasPrefix("0x") || text.hasPrefix("0X") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
    }

    /// Decides by the image's path on Apple's systems; nil on other systems.
    static func isInApp(package: String) -> Bool? {
        if ["/System/", "/usr/lib/", "/Library/"].contains(where: {
            package.hasPrefix($0) || package.hasPrefix("/private/preboot" + $0)
        }) {
            return false
        }
        if package.has(".simruntime/") || package.has("/Xcode.app/") { return false }
        return package.has(".app/") || package.has("/Bundle/Application/") ? true : nil
    }

    /// Whether the function has a meaningful name. Apple's systems attribute code without symbols to the header of the
    /// Mach-O.
    var hasName: Bool {
        switch function {
        case "", "<redacted>", "<unknown>", "<deduplicated_symbol>", "?", "??", "unknown", "null": false
        case "_mh_execute_header", "__mh_execute_header", "_mh_dylib_header", "__mh_dylib_header": false
        default: !(function.hasPrefix("0x") && function.dropFirst(2).allSatisfy(\.isHexDigit))
        }
    }
}

/// Helpers for file paths.
extension String {
    /// The part after the last slash or backslash.
    var lastComponent: Substring { self[(lastIndex { $0 == "/" || $0 == "\\" }.map(index(after:)) ?? startIndex)...] }
}
