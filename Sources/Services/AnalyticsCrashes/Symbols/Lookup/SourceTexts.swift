import Foundation
import MartletFiles
import NIOCore

/// Reads the source lines around calls from the source bundles of debug files.
actor SourceTexts {
    /// The source location of a call.
    struct Location: Hashable, Sendable {
        var debugID: DebugID
        var path: String
        var line: Int
    }

    /// A line with up to five lines before and after it.
    struct Context: Sendable, Equatable {
        var before: [String]
        var line: String
        var after: [String]
    }

    private static let linesAround = 5
    private static let maximumLineLength = 200
    private static let maximumLine = 1_000_000
    /// Limits of the memory cache: manifests of bundles, and texts of at most one mebibyte each.
    private static let maximumBundles = 8
    private static let maximumTexts = 32

    private let store: DebugFileStore
    private let backend: any FileBackend
    /// Recently used bundles and texts; nil if they cannot be read.
    private var bundles: [UUID: SourceBundle?] = [:]
    private var texts: [Key: String?] = [:]

    private struct Key: Hashable {
        var bundle: UUID
        var path: String
    }

    init(store: DebugFileStore, backend: any FileBackend) {
        (self.store, self.backend) = (store, backend)
    }

    /// The contexts of those locations whose sources are available. Never fails.
    func contexts(of locations: Set<Location>, in appID: String) async -> [Location: Context] {
        let debugIDs = Array(Set(locations.map(\.debugID)))
        guard !locations.isEmpty, let parts = try? await store.findSources(debugIDs, of: appID), !parts.isEmpty
        else { return [:] }
        var contexts: [Location: Context] = [:]
        for location in locations {
            // Temporary failures are not cached.
            guard let part = parts[location.debugID], let text = try? await text(of: location.path, in: part) else {
                continue
            }
            contexts[location] = Self.context(of: location.line, in: text)
        }
        return contexts
    }

    /// Nil if the text has no such line.
    static func context(of line: Int, in text: String) -> Context? {
        guard (1...maximumLine).contains(line) else { return nil }
        let bytes = text.utf8
        var (number, start) = (0, bytes.startIndex)
        var kept: [Int: String] = [:]
        while number < line + linesAround {
            number += 1
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            if number >= line - linesAround { kept[number] = String(text[start..<end].prefix(maximumLineLength)) }
            guard end < bytes.endIndex else { break }
            start = bytes.index(after: end)
        }
        guard let own = kept[line] else { return nil }
        func lines(_ range: ClosedRange<Int>) -> [String] { range.compactMap { kept[$0] } }
        return Context(
            before: lines(line - linesAround...line - 1), line: own, after: lines(line + 1...line + linesAround))
    }

    private func text(of path: String, in part: StoredPart) async throws -> String? {
        let key = Key(bundle: part.id, path: path)
        if let known = texts[key] { return known }
        let text = try await bundle(part)?.text(of: path)
        if texts.count >= Self.maximumTexts { texts.removeAll() }
        texts[key] = .some(text)
        return text
    }

    private func bundle(_ part: StoredPart) async throws -> SourceBundle? {
        if let known = bundles[part.id] { return known }
        do {
            let bundle = try await SourceBundle(of: ObjectSource(of: part, in: backend))
            remember(bundle, part.id)
            return bundle
        } catch is ObjectFile.Refusal {
            remember(nil, part.id)
            return nil
        }
    }

    private func remember(_ bundle: SourceBundle?, _ part: UUID) {
        if bundles.count >= Self.maximumBundles { bundles.removeAll() }
        bundles[part] = .some(bundle)
    }
}

extension ObjectSource {
    /// Reads a part of a stored file.
    init(of part: StoredPart, in backend: any FileBackend) {
        self.init(sizeInBytes: part.range.count) { range in
            try await backend.bytes(
                of: part.blob, in: part.range.lowerBound + range.lowerBound..<part.range.lowerBound + range.upperBound)
        }
    }
}

extension FileBackend {
    /// Reads a small range.
    func bytes(of blob: BlobName, in range: Range<Int>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        try await read(blob, in: range) { bytes.append(contentsOf: $0.readableBytesView) }
        return bytes
    }
}
