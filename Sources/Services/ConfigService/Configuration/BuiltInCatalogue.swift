import Foundation
import MartletCore

extension PropertyCatalogue {
    /// `Catalogue/catalogue.json`, embedded in the program.
    static let builtIn: PropertyCatalogue = {
        var catalogue = PropertyCatalogue()
        // A test parses the file, so it cannot be malformed here.
        try? catalogue.add(JSONValue(parsing: PackageResources.catalogue_json)["kinds"] ?? .null)
        return catalogue
    }()

    /// The file as served to clients.
    static let file = StoredContent(PackageResources.catalogue_json)
}
