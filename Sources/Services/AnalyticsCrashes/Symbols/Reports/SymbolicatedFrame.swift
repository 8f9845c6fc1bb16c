import MartletCore

/// What symbols and sources add to a frame.
struct SymbolicatedFrame {
    /// The inlined calls, innermost first; empty if nothing is known.
    var calls: [SourceFrame]
    /// Readable names, keyed by the mangled name.
    var names: [String: String]
    /// The source lines around a call.
    var context: (SourceFrame) -> SourceTexts.Context?

    /// The frame with what is known, followed by a frame for each inlined call, outermost first.
    func filled(_ frame: JSONValue) -> [JSONValue] {
        guard let outermost = calls.last else {
            guard let name = frame["function"]?.plainText, let readable = names[name], readable != name else {
                return [frame]
            }
            return [frame.withMembers(["function": .string(readable), "raw_function": .string(name)])]
        }
        return [filled(frame, with: outermost, "found")]
            + calls.dropLast().reversed().map { filled(frame, with: $0, "inlined") }
    }

    private func filled(_ frame: JSONValue, with call: SourceFrame, _ symbolication: String) -> JSONValue {
        let function = names[call.function] ?? call.function
        // The client's values describe the outermost call only.
        let sent: JSONValue = symbolication == "found" ? frame : .null
        let file = call.path.map { JSONValue.string(String($0.split(separator: "/").last ?? "")) }
        let path = call.path.map { JSONValue.string($0) }
        let line = call.line.map { JSONValue.number(String($0)) }
        let column = call.column.map { JSONValue.number(String($0)) }
        let name = function.isEmpty ? sent["function"] : JSONValue.string(function)
        let mangled = function == call.function ? nil : JSONValue.string(call.function)
        let bare = frame.withMembers([
            "function": nil, "raw_function": nil, "filename": nil, "abs_path": nil, "lineno": nil, "colno": nil,
            "symbolication": nil,
        ])
        let filled = bare.withMembers([
            "function": name, "raw_function": mangled, "filename": file ?? sent["filename"],
            "abs_path": path ?? sent["abs_path"],
            "lineno": line, "colno": column, "symbolication": JSONValue.string(symbolication),
        ])
        guard let context = context(call) else { return filled }
        return filled.withMembers([
            "pre_context": .array(context.before.map { .string($0) }), "context_line": .string(context.line),
            "post_context": .array(context.after.map { .string($0) }),
        ])
    }
}
