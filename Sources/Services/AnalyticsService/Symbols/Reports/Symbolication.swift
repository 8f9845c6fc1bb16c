import Foundation
import Logging
import MartletCore
import MartletFiles
import Synchronization

/// A report whose frames say where they are from, as far as symbols are there.
struct SymbolicatedEvent: Sendable {
    var event: JSONValue
    /// The app's own programs and libraries in it that have no debug file.
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
    private static let maximumAddresses = 2_000
    private static let maximumImages = 32
    /// For all of a report; what has not been asked then is waited for, as if there were no symbols.
    private static let time: Duration = .seconds(30)

    let store: DebugFileStore
    /// Nil: there is no symbolizer.
    let pool: SymbolizerPool?
    let demangler: Demangler
    let remembered: RememberedFrames
    let logger: Logger

    func symbolicate(_ event: JSONValue, of appID: String) async -> SymbolicatedEvent {
        let images = EventImages(event)
        let addresses = Self.addresses(in: event, images)
        let parts = await parts(Array(addresses.keys), of: appID)
        var found: [Place: [SourceFrame]] = [:]
        var missing: Set<MissingImage> = []
        let end = ContinuousClock.now + Self.time
        for (debugID, inImage) in addresses {
            guard let part = parts?[debugID] else {
                if !inImage.image.isSystem { missing.insert(inImage.image.missing) }
                continue
            }
            guard let pool, !part.isBroken else { continue }
            guard ContinuousClock.now < end else {
                missing.insert(inImage.image.missing)
                continue
            }
            do {
                for (offset, frames) in try await frames(at: inImage.offsets, in: part, pool) {
                    found[Place(debugID: debugID, offset: offset)] = frames
                }
            } catch {
                await note(error, part)
                // Not the file's fault: it is to be tried again when a file of this id comes, as if there were none.
                if !(error is SymbolizerPool.Failure) { missing.insert(inImage.image.missing) }
            }
        }
        let names = await readable(namesIn: event, found)
        let new = EventFrames.rewrite(event) { frame in
            let frames = Self.place(of: frame, images).flatMap { found[$0.place] } ?? []
            return frame.value.symbolicated(frames, names)
        }
        return SymbolicatedEvent(
            event: new, missing: missing.sorted { $0.debugID < $1.debugID }, isChanged: new != event)
    }

    /// An address in an image, from its start.
    struct Place: Hashable {
        var debugID: DebugID
        var offset: UInt64
    }

    private struct InImage {
        var image: EventImages.Image
        var offsets: Set<UInt64> = []
    }

    /// What is to be looked up: the first 32 images that frames point into, and the first 2,000 addresses.
    private static func addresses(in event: JSONValue, _ images: EventImages) -> [DebugID: InImage] {
        var addresses: [DebugID: InImage] = [:]
        var count = 0
        _ = EventFrames.rewrite(event) { frame in
            if let (place, image) = Self.place(of: frame, images), count < maximumAddresses,
                addresses[place.debugID] != nil || addresses.count < maximumImages || !image.isSystem && addresses.count < 2 * maximumImages,
                addresses[place.debugID, default: InImage(image: image)].offsets.insert(place.offset).inserted {
                count += 1
            }
            return [frame.value]
        }
        return addresses
    }

    private static func place(of frame: EventFrames.Frame, _ images: EventImages) -> (place: Place, image: EventImages.Image)? {
        guard let address = frame.value["instruction_addr"]?.machineAddress,
            let image = images.image(of: address, imageAddress: frame.value["image_addr"]?.machineAddress)
        else { return nil }
        let offset = address - image.address
        let step: UInt64 = frame.isExact ? 0 : image.architecture?.hasPrefix("arm") == true ? 4 : 1
        return (Place(debugID: image.debugID, offset: offset >= step ? offset - step : offset), image)
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
    private func readable(namesIn event: JSONValue, _ found: [Place: [SourceFrame]]) async -> [String: String] {
        var names = Set(found.values.joined().map(\.function).filter(Demangler.isMangled))
        _ = EventFrames.rewrite(event) { frame in
            if let name = frame.value["function"]?.plainText, Demangler.isMangled(name) { names.insert(name) }
            return [frame.value]
        }
        let mangled = Array(names)
        return Dictionary(zip(mangled, await demangler.readable(mangled))) { $1 }
    }
}

extension EventImages.Image {
    var missing: MissingImage { MissingImage(debugID: debugID.description, name: name, architecture: architecture) }
}

extension JSONValue {
    /// A frame, with what is known of it: as many frames as calls were inlined there, the outermost first.
    fileprivate func symbolicated(_ frames: [SourceFrame], _ names: [String: String]) -> [JSONValue] {
        guard let outermost = frames.last else {
            guard let name = self["function"]?.plainText, let readable = names[name], readable != name else { return [self] }
            return [withMembers(["function": .string(readable), "raw_function": .string(name)])]
        }
        return [filled(with: outermost, "found", names)] + frames.dropLast().reversed().map { filled(with: $0, "inlined", names) }
    }

    private func filled(with frame: SourceFrame, _ symbolication: String, _ names: [String: String]) -> JSONValue {
        let function = names[frame.function] ?? frame.function
        // What the client knew is the outermost call's.
        let known: JSONValue = symbolication == "found" ? self : .null
        let file = frame.path.map { JSONValue.string(String($0.split(separator: "/").last ?? "")) }
        let path = frame.path.map { JSONValue.string($0) }
        let line = frame.line.map { JSONValue.number(String($0)) }
        let column = frame.column.map { JSONValue.number(String($0)) }
        let name = function.isEmpty ? known["function"] : JSONValue.string(function)
        let mangled = function == frame.function ? nil : JSONValue.string(frame.function)
        let bare = withMembers([
            "function": nil, "raw_function": nil, "filename": nil, "abs_path": nil, "lineno": nil, "colno": nil, "symbolication": nil,
        ])
        return bare.withMembers([
            "function": name, "raw_function": mangled, "filename": file ?? known["filename"], "abs_path": path ?? known["abs_path"],
            "lineno": line, "colno": column, "symbolication": JSONValue.string(symbolication),
        ])
    }
}

/// What addresses turned out to be: most crashes of a version are at few places.
final class RememberedFrames: Sendable {
    private static let maximumCount = 50_000

    private struct Key: Hashable {
        var part: UUID
        var offset: UInt64
    }

    private let known = Mutex<[Key: [SourceFrame]]>([:])

    func frames(at offsets: Set<UInt64>, in part: UUID) -> [UInt64: [SourceFrame]] {
        known.withLock { known in
            var frames: [UInt64: [SourceFrame]] = [:]
            for offset in offsets { frames[offset] = known[Key(part: part, offset: offset)] }
            return frames
        }
    }

    func remember(_ frames: [UInt64: [SourceFrame]], in part: UUID) {
        known.withLock { known in
            if known.count + frames.count > Self.maximumCount { known.removeAll() }
            for (offset, found) in frames { known[Key(part: part, offset: offset)] = found }
        }
    }
}
