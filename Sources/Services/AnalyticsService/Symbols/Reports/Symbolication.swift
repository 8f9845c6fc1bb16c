import Foundation
import Logging
import MartletCore
import MartletFiles

/// A report whose frames say where they are from, as far as symbols are there.
struct SymbolicatedEvent: Sendable {
    var event: JSONValue
    /// The app's own programs and libraries in it that have no debug file, or none with debug information.
    var missing: [MissingImage]
    var isChanged: Bool
}

struct MissingImage: Sendable, Hashable {
    /// 36 lower-case characters.
    var debugID: String
    var name: String
    var architecture: String?
}

/// Makes lines of addresses in reports.
///
/// The address to look up is `instruction_addr - image_addr` in the image plus where the debug file thinks it is loaded; one instruction
/// less where it is the address that a call returns to.
struct Symbolication: Sendable {
    /// For all of a report; what has not been asked then is waited for, as if there were no symbols.
    private static let time: Duration = .seconds(30)
    /// Frames of a report that show their source.
    private static let maximumContexts = 50

    let store: DebugFileStore
    /// Nil: there is no symbolizer.
    let pool: SymbolizerPool?
    let demangler: Demangler
    let sources: SourceTexts
    let remembered: RememberedFrames
    let logger: Logger

    func symbolicate(_ event: JSONValue, of appID: String) async -> SymbolicatedEvent {
        let frames = EventFrames(event)
        let places = FramePlaces(of: frames.frames, in: EventImages(event))
        let (found, missing) = await lookUp(places.questions, of: appID)
        let names = await readable(namesIn: frames, found)
        let contexts = await contexts(of: frames, places, found, of: appID)
        let new = zip(frames.frames, places.places).map { frame, place in
            let known = SymbolicatedFrame(calls: place.flatMap { found[$0] } ?? [], names: names) { call in
                place.flatMap { call.place(in: $0.debugID) }.flatMap { contexts[$0] }
            }
            return known.filled(frame.value)
        }
        let changed = frames.replaced(by: new)
        return SymbolicatedEvent(event: changed, missing: missing.sorted { $0.debugID < $1.debugID }, isChanged: changed != event)
    }

    /// What is known of the places, and the images without which more cannot be known.
    private func lookUp(
        _ questions: [DebugID: FramePlaces.InImage], of appID: String
    ) async -> (found: [FramePlace: [SourceFrame]], missing: Set<MissingImage>) {
        let parts = await parts(Array(questions.keys), of: appID)
        var found: [FramePlace: [SourceFrame]] = [:]
        var missing: Set<MissingImage> = []
        let end = ContinuousClock.now + Self.time
        for (debugID, inImage) in questions {
            guard let part = parts?[debugID] else {
                if !inImage.image.isSystem { missing.insert(inImage.image.missing) }
                continue
            }
            if !part.hasDebugInformation, !inImage.image.isSystem { missing.insert(inImage.image.missing) }
            guard let pool, !part.isBroken else { continue }
            guard ContinuousClock.now < end else {
                missing.insert(inImage.image.missing)
                continue
            }
            do {
                for (offset, frames) in try await frames(at: inImage.offsets, in: part, pool) {
                    found[FramePlace(debugID: debugID, offset: offset)] = frames
                }
            } catch {
                await note(error, part)
                // Not the file's fault: it is to be tried again when a file of this id comes, as if there were none.
                if !(error is SymbolizerPool.Failure) { missing.insert(inImage.image.missing) }
            }
        }
        return (found, missing)
    }

    /// Nil when the database does not say.
    private func parts(_ debugIDs: [DebugID], of appID: String) async -> [DebugID: StoredPart]? {
        do {
            return try await store.find(debugIDs, of: appID)
        } catch {
            logger.warning("debug files not looked for", metadata: ["error.cause": "\(error)"])
            return nil
        }
    }

    private func frames(at offsets: Set<UInt64>, in part: StoredPart, _ pool: SymbolizerPool) async throws -> [UInt64: [SourceFrame]] {
        var frames = remembered.frames(at: offsets, in: part.id)
        let unknown = offsets.filter { frames[$0] == nil }.sorted()
        guard !unknown.isEmpty else { return frames }
        let new = try await pool.frames(at: unknown.map { part.address &+ $0 }, in: part)
        if part.failures > 0 { try await store.countSuccess(of: part.id) }
        let found = Dictionary(zip(unknown, new)) { $1 }
        remembered.remember(found, in: part.id)
        frames.merge(found) { $1 }
        return frames
    }

    private func note(_ error: any Error, _ part: StoredPart) async {
        logger.warning("a debug file was not read", metadata: ["symbols.part": "\(part.id)", "error.cause": "\(error)"])
        guard error is SymbolizerPool.Failure else { return }
        try? await store.countFailure(of: part.id)
    }

    /// The mangled names of frames, old and new, and what people would write for them.
    private func readable(namesIn frames: EventFrames, _ found: [FramePlace: [SourceFrame]]) async -> [String: String] {
        let old = frames.frames.compactMap { $0.value["function"]?.plainText }
        let mangled = Array(Set((found.values.joined().map(\.function) + old).filter(Demangler.isMangled)))
        return Dictionary(zip(mangled, await demangler.readable(mangled))) { $1 }
    }

    /// The sources of the app's own calls, the last frames first: where it broke.
    private func contexts(
        of frames: EventFrames, _ places: FramePlaces, _ found: [FramePlace: [SourceFrame]], of appID: String
    ) async -> [SourceTexts.Place: SourceTexts.Context] {
        var wanted: Set<SourceTexts.Place> = []
        for (frame, place) in zip(frames.frames, places.places).reversed() {
            guard let place, wanted.count < Self.maximumContexts else { continue }
            let isOwn = frame.value["in_app"].map { $0 == .bool(true) } ?? (places.questions[place.debugID]?.image.isSystem == false)
            guard isOwn else { continue }
            wanted.formUnion((found[place] ?? []).compactMap { $0.place(in: place.debugID) })
        }
        return await sources.contexts(of: wanted, in: appID)
    }
}

extension SourceFrame {
    fileprivate func place(in debugID: DebugID) -> SourceTexts.Place? {
        guard let path, let line else { return nil }
        return SourceTexts.Place(debugID: debugID, path: path, line: line)
    }
}
