/// Derives the keys by which the calls of an event are grouped.
struct FrameKeys {
    private static let longestSourceLine = 120

    private let event: Event

    init(_ event: Event) {
        self.event = event
    }

    /// One key for each call.
    ///
    /// If the app's innermost call has a name, that name identifies the failure, and unnamed calls are represented by
    /// their image alone, so that two builds give the same issue. Otherwise unnamed calls are represented by their
    /// offsets, which distinguish different crashes of one build but change with the next build.
    func of(_ frames: [Frame]) -> [String] {
        let hasNamedOwnFrame = Self.hasNamedOwnFrame(frames)
        return frames.map { key($0, hasNamedOwnFrame) }
    }

    /// Whether calls are identified by offsets, so that the same crash in another build is not recognized.
    ///
    /// - Parameter ownOnly: Whether to consider only the app's own calls.
    static func areByPlace(_ frames: [Frame], ownOnly: Bool) -> Bool {
        !hasNamedOwnFrame(frames) && frames.contains { $0.isNative && !$0.hasName && (!ownOnly || $0.isInApp == true) }
    }

    private static func hasNamedOwnFrame(_ frames: [Frame]) -> Bool {
        frames.last { $0.isInApp == true }?.hasName ?? false
    }

    private func key(_ frame: Frame, _ hasNamedOwnFrame: Bool) -> String {
        if frame.isNative {
            return frame.hasName ? FunctionName.normalized(frame.function) : place(frame, hasNamedOwnFrame)
        }
        var key = [file(frame)]
        if frame.hasName { key.append(FunctionName.normalized(frame.function)) }
        let source = frame.source.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if !source.isEmpty, source.utf8.count <= Self.longestSourceLine {
            key.append(source)
        } else if !frame.hasName, let line = frame.line {
            key.append("\(line)")
        }
        return key.joined(separator: "|")
    }

    /// The offset in the image, which is independent of the load address. Other builds have other offsets, until
    /// symbols supply a name.
    private func place(_ frame: Frame, _ hasNamedOwnFrame: Bool) -> String {
        let image = frame.instruction.flatMap { address in event.images.first { $0.contains(address) } }
        let name = frame.package.isEmpty ? image?.name ?? "" : frame.package
        guard !hasNamedOwnFrame, let address = frame.instruction, let start = frame.image ?? image?.address,
            address >= start
        else { return "\(name.lastComponent)" }
        return "\(name.lastComponent)+\(String(address - start, radix: 16))"
    }

    /// The module, or else the file without its folder and without a build's hash: `main.3f2a91bc.js`.
    private func file(_ frame: Frame) -> String {
        if !frame.module.isEmpty { return frame.module.has("$") ? Self.modules[frame.module] : frame.module }
        return Self.files[frame.filename]
    }

    private static let modules = NameCache { NameBytes.withoutCounts($0, afterSlash: false) }

    private static let files = NameCache { name in
        withoutHash(String(name.prefix { $0 != "?" && $0 != "#" }).lastComponent.lowercased())
    }

    /// Removes `.3f2a91bc` between dots: 8 or more hexadecimal digits after a dot or hyphen, followed by a dot.
    private static func withoutHash(_ name: String) -> String {
        var kept: [UInt8] = []
        // The last dot or hyphen, as long as only hexadecimal digits follow it.
        var mark: Int?
        for byte in name.utf8 {
            if byte == UInt8(ascii: "."), let start = mark, kept.count - start > 8 { kept.removeSubrange(start...) }
            if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") {
                mark = kept.count
            } else if !NameBytes.isLowerHexDigit(byte) {
                mark = nil
            }
            kept.append(byte)
        }
        return String(decoding: kept, as: UTF8.self)
    }
}
