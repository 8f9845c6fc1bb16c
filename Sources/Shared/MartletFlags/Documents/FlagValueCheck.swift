import MartletCore

/// Checks the values of one flag.
struct FlagValueCheck {
    /// The maximum size as JSON text.
    static let maximumSizeInBytes = 64 << 10

    let kind: FlagDocument.Kind
    var schema: ValueSchema?

    func check(_ value: JSONValue, at path: String, log: inout IssueLog) {
        guard isExpectedKind(value) else {
            return log.error(
                "wrong-type", at: path,
                "Expected a \(kind == .json ? "JSON value other than null" : kind.rawValue), found \(value.phrase).")
        }
        let size = value.text.utf8.count
        if size > Self.maximumSizeInBytes {
            log.error("too-large", at: path, "Expected at most \(Self.maximumSizeInBytes) bytes, found \(size).")
        }
        schema?.check(value, at: path, log: &log)
    }

    private func isExpectedKind(_ value: JSONValue) -> Bool {
        switch (kind, value) {
        case (.boolean, .bool), (.number, .number), (.string, .string): true
        case (.json, .null): false
        case (.json, _): true
        default: false
        }
    }
}
