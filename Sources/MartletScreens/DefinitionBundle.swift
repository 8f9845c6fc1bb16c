import Foundation
import MartletKit
import MartletLogic

/// A definition that is built into the app: a folder with the signed manifest as the server returns it, and a file for
/// each part, named by its digest.
struct DefinitionBundle: Sendable {
    private let folder: LocalFolder

    init(_ url: URL) { folder = LocalFolder(url: url) }

    /// The manifest, or empty data, which is not a valid manifest, if the folder has none.
    var answer: DefinitionStore.Answer {
        let json = folder.read("manifest.json").flatMap { $0.count <= DefinitionStore.maximumManifestSize ? $0 : nil }
        return DefinitionStore.Answer(json: json ?? Data(), entityTag: nil)
    }

    /// Nil if the folder does not have it. It may be damaged.
    func data(of part: DefinitionManifest.Part) -> Data? { folder.read(part.sha256 + ".json") }
}
