import Hummingbird
import MartletHTTP

extension AuthService {
    /// Apps, their versions and their keys, for staff.
    func addAppRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "admin/apps", ListApps(apps: apps))
        router.on(.post, "admin/apps", CreateApp(apps: apps))
        router.on(.get, "admin/apps/:app", ReadApp(apps: apps))
        router.on(.patch, "admin/apps/:app", ChangeApp(apps: apps))
        router.on(.post, "admin/apps/:app/archive", ArchiveApp(apps: apps, archives: true))
        router.on(.post, "admin/apps/:app/restore", ArchiveApp(apps: apps, archives: false))
        router.on(.post, "admin/apps/:app/lookup", LookUpApp(apps: apps, lookup: storeLookup))
        router.on(.get, "admin/apps/:app/icon", ReadIcon(pictures: pictures))
        router.on(.put, "admin/apps/:app/icon", SetIcon(pictures: pictures))
        router.on(.delete, "admin/apps/:app/icon", DeleteIcon(pictures: pictures))

        router.on(.get, "admin/apps/:app/versions", ListVersions(versions: versions, apps: apps))
        router.on(.post, "admin/apps/:app/versions", CreateVersion(versions: versions))
        router.on(.get, "admin/apps/:app/versions/:version", ReadVersion(versions: versions))
        router.on(.patch, "admin/apps/:app/versions/:version", ChangeVersion(versions: versions))
        router.on(.delete, "admin/apps/:app/versions/:version", DeleteVersion(versions: versions))
        router.on(.post, "admin/apps/:app/versions/:version/pictures", AddPicture(pictures: pictures))
        router.on(.put, "admin/apps/:app/versions/:version/pictures", OrderPictures(pictures: pictures))
        router.on(.get, "admin/apps/:app/versions/:version/pictures/:id", ReadPicture(pictures: pictures))
        router.on(.delete, "admin/apps/:app/versions/:version/pictures/:id", DeletePicture(pictures: pictures))

        router.on(.get, "admin/apps/:app/keys", ListKeys(credentials: credentials, apps: apps))
        router.on(.post, "admin/apps/:app/keys", CreateKey(credentials: credentials))
        router.on(.patch, "admin/apps/:app/keys/:id", ChangeKey(credentials: credentials))
        router.on(.delete, "admin/apps/:app/keys/:id", RevokeKey(credentials: credentials))
        router.on(.post, "admin/apps/:app/keys/:id/rotate", RotateKey(credentials: credentials))
    }
}
