import Foundation
import Logging
import MartletCore
import MartletFiles

/// A report after symbolication.
struct SymbolicatedEvent: Sendable {
    var event: JSONValue
    /// The app's own programs and libraries without a debug file, or without debug information in it.
    var missing: [MissingImage]
    var isChanged: Bool
}

struct MissingImage: Sendable, Hashable {
    /// 36 characters in lower case.
    var debugID: String
    var name: String
    var architecture: String?
}

/// Resolves the addresses in reports to functions, files and lines.
///
/// The address to look up is `instruction_addr - image_addr`, plus the address at which the debug file expects the
/// image; for the return address of a call, it is one instruction less.
struct Symbolication: Sendable {
    /// Maximum number of calls whose source lines are added to a report.
    private static let maximumContexts = 50

    let store: DebugFileStore
    /// Nil if there is no symbolizer.
    let pool: SymbolizerPool?
    let demangler: Demangler
    let sources: SourceTexts
    let frameCache: FrameCache
    /// See `SymbolSettings.reportTime`.
    let time: Duration
    let logger: Logger

    func symbolicate(_ event: JSONValue, of appID: String) async -> SymbolicatedEvent {
        let frames = EventFrames(event)
        let places = FramePlaces(of: frames.frames, in: EventImages(event))
        let (found, missing) = await lookUp(places.lookups, of: appID)
        let names = await readable(namesIn: frames, found)
        let contexts = await contexts(of: frames, places, found, of: appID)
        let new = zip(frames.frames, places.places).map { frame, place in
            let known = SymbolicatedFrame(calls: place.flatMap { found[$0] } ?? [], names: names) { call in
                place.flatMap { call.location(in: $0.debugID) }.flatMap { contexts[$0] }
            }
            return known.filled(frame.value)
        }
        let changed = frames.replaced(by: new)
        return SymbolicatedEvent(
            event: changed, missing: missing.sorted { $0.debugID < $1.debugID }, isChanged: changed != event)
    }

    /// The frames found for the places so far, and the images whose debug files are missing.
    private func lookUp(
        _ lookups: [DebugID: FramePlaces.Lookup], of appID: String
    ) async -> (found: [FramePlace: [SourceFrame]], missing: Set<MissingImage>) {
        let parts = await parts(Array(lookups.keys), of: appID)
        var found: [FramePlace: [SourceFrame]] = [:]
        var missing: Set<MissingImage> = []
        let end = ContinuousClock.now + time
        for (debugID, lookup) in lookups {
            guard let part = parts?[debugID] else {
                if !lookup.image.isSystem { missing.insert(lookup.image.missing) }
                continue
            }
            if !part.hasDebugInformation, !lookup.image.isSystem { missing.insert(lookup.image.missing) }
            guard let pool, !part.isBroken else { continue }
            guard ContinuousClock.now < end else {
                missing.insert(lookup.image.missing)
                continue
            }
            do {
                for (offset, frames) in try await frames(at: lookup.offsets, in: part, pool) {
                    found[FramePlace(debugID: debugID, offset: offset)] = frames
                }
            } catch {
                await record(error, part)
                // If the file did not cause the failure, it counts as missing, so that the report is processed again.
                if !(error is SymbolizerPool.Failure) { missing.insert(lookup.image.missing) }
            }
        }
        return (found, missing)
    }

    /// Nil if the database query failed.
    private func parts(_ debugIDs: [DebugID], of appID: String) async -> [DebugID: StoredPart]? {
        do {
            return try await store.find(debugIDs, of: appID)
        } catch {
            logger.warning(
                "Could not look up debug files; leaving addresses unresolved.", metadata: ["error.cause": "\(error)"])
            return nil
        }
    }

    private func frames(at offsets: Set<UInt64>, in part: StoredPart, _ pool: SymbolizerPool) async throws -> [UInt64:
        [SourceFrame]]
    {
        var frames = frameCache.frames(at: offsets, in: part.id)
        let unknown = offsets.filter { frames[$0] == nil }.sorted()
        guard !unknown.isEmpty else { return frames }
        let new = try await pool.frames(at: unknown.map { part.address &+ $0 }, in: part)
        if part.failures > 0 { try await store.countSuccess(of: part.id) }
        let found = Dictionary(zip(unknown, new)) { $1 }
        frameCache.remember(found, in: part.id)
        frames.merge(found) { $1 }
        return frames
    }

    private func record(_ error: any Error, _ part: StoredPart) async {
        logger.warning(
            "Could not read a debug file; leaving its addresses unresolved.",
            metadata: ["symbols.part": "\(part.id)", "error.cause": "\(error)"])
        guard error is SymbolizerPool.Failure else { return }
        try? await store.countFailure(of: part.id)
    }

    /// Readable forms of the mangled names in frames, old and new.
    private func readable(namesIn frames: EventFrames, _ found: [FramePlace: [SourceFrame]]) async -> [String: String] {
        let old = frames.frames.compactMap { $0.value["function"]?.plainText }
        let mangled = Array(Set((found.values.joined().map(\.function) + old).filter(Demangler.isMangled)))
        return Dictionary(zip(mangled, await demangler.readable(mangled))) { $1 }
    }

    /// The sources of the app's own calls, starting with the last frames, where the failure occurred.
    private func contexts(
        of frames: EventFrames, _ places: FramePlaces, _ found: [FramePlace: [SourceFrame]], of appID: String
    ) async -> [SourceTexts.Location: SourceTexts.Context] {
        var locations: Set<SourceTexts.Location> = []
        for (frame, place) in zip(frames.frames, places.places).reversed() {
            guard let place, locations.count < Self.maximumContexts else { continue }
            let isOwn =
                frame.value["in_app"].map { $0 == .bool(true) }
                ?? (places.lookups[place.debugID]?.image.isSystem == false)
            guard isOwn else { continue }
            locations.formUnion((found[place] ?? []).compactMap { $0.location(in: place.debugID) })
        }
        return await sources.contexts(of: locations, in: appID)
    }
}

extension SourceFrame {
    fileprivate func location(in debugID: DebugID) -> SourceTexts.Location? {
        guard let path, let line else { return nil }
        return SourceTexts.Location(debugID: debugID, path: path, line: line)
    }
}
