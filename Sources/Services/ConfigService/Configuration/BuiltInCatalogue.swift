import Foundation
import MartletCore

extension PropertyCatalogue {
    /// `Catalogue/catalogue.json`, which is compiled into the program.
    static let builtIn: PropertyCatalogue = {
        var catalogue = PropertyCatalogue()
        // A test reads the file: here it cannot be malformed.
        try? catalogue.add(JSONValue(parsing: PackageResources.catalogue_json)["kinds"] ?? .null)
        return catalogue
    }()

    /// The file as it is handed out.
    static let file = StoredContent(PackageResources.catalogue_json)
}
