import MartletHTTP
import NotificationsService

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(NotificationsService.self)
    }
}
