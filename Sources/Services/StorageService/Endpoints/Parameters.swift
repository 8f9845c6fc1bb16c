import Hummingbird
import MartletAPI
import MartletHTTP

extension ServiceContext {
    /// - Throws: `invalid-name`.
    var collection: CollectionName {
        get throws { try CollectionName(parameters.get("collection") ?? "") }
    }

    /// - Throws: `invalid-id`.
    var objectID: ObjectID {
        get throws { try ObjectID(parameters.get("id") ?? "") }
    }

    /// - Throws: `unauthorized`.
    var space: AppSpace {
        get throws { try AppSpace(principal) }
    }

    /// The app's data, when its own server asks with the master key.
    ///
    /// - Throws: `forbidden`.
    var managedSpace: AppSpace {
        get throws { try AppSpace(master) }
    }
}

extension Request {
    /// Refuses parameters that would silently do nothing.
    ///
    /// - Throws: `invalid-parameter` naming the first that is not in `known`.
    func allowParameters(_ known: Set<Substring> = []) throws {
        for parameter in uri.queryParameters where !known.contains(parameter.key) {
            throw HTTPProblem(.invalidParameter, "This query parameter is not known.", field: String(parameter.key))
        }
    }
}
